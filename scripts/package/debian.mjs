/** The package as a Debian one: the same files below /usr/lib/ctxfs, the command, the manual page and completions where Debian has them. */
import { createHash } from 'node:crypto';
import { ar, gzip, tar } from './archive.mjs';

const homes = {
  'share/completions/ctx.bash': 'usr/share/bash-completion/completions/ctx',
  'share/completions/_ctx': 'usr/share/zsh/vendor-completions/_ctx',
  'share/completions/ctx.fish': 'usr/share/fish/vendor_completions.d/ctx.fish',
  LICENSE: 'usr/share/doc/ctxfs/copyright',
};

function placed({ path, bytes, mode }) {
  if (path === 'share/man/ctx.1') return { path: 'usr/share/man/man1/ctx.1.gz', bytes: gzip(bytes), mode };
  if (path === 'CHANGELOG.md') return { path: 'usr/share/doc/ctxfs/changelog.gz', bytes: gzip(bytes), mode };
  return { path: homes[path] ?? `usr/lib/ctxfs/${path}`, bytes, mode };
}

function control({ version, description, size }) {
  return `Package: ctxfs
Version: ${version}
Architecture: all
Section: admin
Priority: optional
Maintainer: the authors of ctxfs <ctxfs@localhost>
Installed-Size: ${Math.ceil(size / 1024)}
Depends: nodejs (>= 20.19)
Recommends: git, fuse3
Description: ${description}
 Programs for amd64 and arm64 are in it. Your workspaces are in the store,
 ~/.local/share/ctxfs, which removing this package leaves as it is.
`;
}

export function debianPackage({ version, files, description }) {
  const inside = [...files.map(placed), { path: 'usr/bin/ctx', link: '../lib/ctxfs/bin/ctx' }].map((entry) => ({
    ...entry,
    path: `./${entry.path}`,
  }));
  const stored = inside.filter(({ link }) => link === undefined);
  const sums = stored.map(({ path, bytes }) => `${createHash('md5').update(bytes).digest('hex')}  ${path.slice(2)}\n`);
  const size = stored.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const facts = [
    { path: './control', bytes: Buffer.from(control({ version, description, size })), mode: 0o644 },
    { path: './md5sums', bytes: Buffer.from(sums.sort().join('')), mode: 0o644 },
  ];
  const name = `ctxfs_${version}_all.deb`;
  const members = [
    { name: 'debian-binary', bytes: Buffer.from('2.0\n') },
    { name: 'control.tar.gz', bytes: gzip(tar(facts)) },
    { name: 'data.tar.gz', bytes: gzip(tar(inside, { directories: true })) },
  ];
  return { name, bytes: ar(members) };
}
