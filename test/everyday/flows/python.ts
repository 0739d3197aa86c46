/** Python: virtual environments, pip without a network, tests. */
import type { Flow } from '../flow.js';

const python = '/usr/bin/python3';
const pyenv = '/root/.pyenv/versions/3.11.7/bin/python3';
const environment = { PIP_NO_INDEX: '1', PIP_DISABLE_PIP_VERSION_CHECK: '1', PYTHONDONTWRITEBYTECODE: '1' };
const project = `mkdir p; printf 'def f():\\n    return 1\\n' > p/__init__.py; printf 'import unittest, p\\nclass T(unittest.TestCase):\\n    def test_f(self): self.assertEqual(p.f(), 1)\\n' > test_p.py`;
const steady = (text: string) => text.replace(/in [\d.]+s/g, 'in');

export const pythonFlows: readonly Flow[] = [
  {
    name: 'python: run and unittest',
    needs: [python],
    before: project,
    run: `${python} -c 'import p; print(p.f())'; ${python} -B -m unittest -q`,
    tidy: steady,
    leftOut: /__pycache__/,
  },
  {
    name: 'python: bytecode',
    needs: [python],
    // It compares whole seconds.
    before: `${project}; touch -d 2020-01-01 p/__init__.py`,
    run: [
      `${python} -c 'import p'; ls p/__pycache__`,
      `printf 'def f():\\n    return 2\\n' > p/__init__.py; ${python} -c 'import p; print(p.f())'`,
    ],
    volatile: /\.pyc$/,
  },
  {
    name: 'python: files, shutil and tempfile',
    needs: [python],
    before: project,
    run: `${python} -c 'import shutil, os, tempfile; shutil.move("p", "q"); shutil.copytree("q", "r"); os.makedirs("a/b"); shutil.rmtree("r"); d = tempfile.mkdtemp(); os.rmdir(d); print(sorted(os.listdir(".")), os.path.realpath(".") == os.getcwd())'`,
    leftOut: /__pycache__/,
  },
  {
    name: 'python: processes and pools',
    needs: [python],
    run: `${python} -c 'from multiprocessing import Pool; import subprocess
if __name__ == "__main__":
    with Pool(3) as pool: print(pool.map(abs, [-1, -2, -3]))
    print(subprocess.run(["sh", "-c", "exit 3"]).returncode)'`,
  },
  {
    name: 'python: a virtual environment',
    needs: [pyenv],
    before: project,
    environment,
    only: 'root',
    options: ['--read', '/root/.pyenv'],
    run: [
      `${pyenv} -m venv .venv; .venv/bin/python -c 'import sys; print(sys.prefix == sys.base_prefix)'`,
      '. .venv/bin/activate; python -c "import sys; print(sys.prefix)"; command -v python; deactivate',
    ],
    volatile: /\.(pyc|exe)$/,
    leftOut: /__pycache__/,
  },
  {
    name: 'python: a virtual environment that was there',
    needs: [pyenv],
    before: `${project}; ${pyenv} -m venv --without-pip .venv`,
    environment,
    only: 'root',
    options: ['--read', '/root/.pyenv'],
    run: `. .venv/bin/activate; python -c "import sys; print(sys.prefix)"`,
    leftOut: /__pycache__/,
  },
  {
    name: 'python: a virtual environment of the system',
    needs: ['/usr/lib/python3/dist-packages', python],
    before: `${project}; ${python} -m venv --without-pip --system-site-packages .venv`,
    environment,
    run: `. .venv/bin/activate; python -c "import sys; print(sys.prefix)"; command -v python`,
    leftOut: /__pycache__/,
  },
  {
    name: 'pip: install the project itself',
    needs: [pyenv],
    before: `${project}; printf '[project]\\nname = "p"\\nversion = "1"\\n[build-system]\\nrequires = ["setuptools"]\\nbuild-backend = "setuptools.build_meta"\\n' > pyproject.toml; ${pyenv} -m venv .venv`,
    environment,
    only: 'root',
    options: ['--read', '/root/.pyenv'],
    run: `.venv/bin/pip install -q --no-build-isolation --no-deps . 2>&1 | tail -2; .venv/bin/pip list 2>/dev/null | grep -c '^p '; .venv/bin/python -c 'import p; print(p.f())'`,
    volatile: /(RECORD|\.pyc|direct_url\.json)$/,
    leftOut: /__pycache__|\.egg-info|^build\//,
  },
  {
    name: 'pytest',
    needs: [pyenv],
    before: `${project}; printf 'import p\\ndef test_f(tmp_path):\\n    assert p.f() == 1\\n    (tmp_path / "x").write_text("y")\\n' > test_q.py`,
    environment,
    only: 'root',
    options: ['--read', '/root/.pyenv'],
    run: `${pyenv} -m pytest -q -p no:cacheprovider 2>&1 | tail -3`,
    tidy: steady,
    leftOut: /__pycache__/,
  },
  { name: 'uv', needs: ['uv'], before: project, run: 'uv venv -q --offline; ls -A .venv | sort' },
];
