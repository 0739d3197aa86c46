/** Programs for a person at a terminal, and what the shell itself does. */
import { each, type Programs } from '../program.js';

export const terminalPrograms: Programs = {
  ...each('vim vi nvim view ex', { is: 'mi', only: { '-e -E': 'm' } }),
  ...each('nano emacs pico joe micro helix hx kak ne mc ranger nnn lf tmux screen zellij byobu code subl tig lazygit', {
    is: 'mi',
  }),
  ...each('less more most top htop btop atop iotop glances dialog whiptail zenity', { is: 'i' }),
  less: {
    is: 'i',
    with: { '-o -O --log-file --LOG-FILE': 'm', '-k --lesskey-file --lesskey-src --lesskey-content': 'm' },
    matching: { '^\\+.*!': 'm' },
    values: '-o -O -k',
    unsure: 'm',
  },
  man: { is: 'i', text: '-P --pager', with: { '-H --html': 'm' }, values: '-P --pager', unsure: 'm' },
  info: { is: 'i', with: { '-o --output': 'm' }, values: '-o --output', unsure: 'm' },
  fzf: { is: 'i', with: { '--preview --bind --listen': 'm' }, values: '--preview --bind', unsure: 'm' },
  gum: { is: 'mi' },
};

/** Of the shell; those that need more are in `read-builtin`. */
export const shellBuiltins: Programs = {
  ...each('cd pushd popd dirs umask ulimit jobs fg bg disown times type shift return exit break', {
    is: 'r',
  }),
  ...each('continue history logout suspend caller compopt help', { is: 'r' }),
  bind: { is: 'r', with: { '-x -f': 'm' } },
  history: { is: 'r', with: { '-w -a': 'm' }, unsure: 'm' },
  enable: { is: 'r', with: { '-f': 'm' }, unsure: 'm' },
};
