/** Lines that run `rm /data`, by the shell that does. Each was read as another command once, most of them as one that only looks. */
export const found: readonly (readonly [shell: string, ...texts: readonly string[]])[] = [
  [
    'bash',
    // Words that a builtin expands, and commands that a builtin puts words behind.
    `compgen -W '$(rm /data)'`,
    `mapfile -t -c 1 -C rm <<< /data`,
    `compgen -C rm /data`,
    // Variables that the shell sets, or changes what they are given.
    `_=ls; : rm; $_ /data`,
    `BASH_REMATCH=ls; [[ rm =~ rm ]]; $BASH_REMATCH /data`,
    `declare -l v=RM; $v /data`,
    `e=eval; v=ls; $e 'x=1;v=rm'; $v /data`,
    `o=-v; v=ls; printf $o v rm; $v /data`,
    `trap 'for v in rm; do :; done' DEBUG; v=ls; :; $v /data`,
    `bash -c '$1 /data' $u ls rm`,
    // Functions that are taken back.
    `rm() { :; }; x=rm; unset -f "$x"; rm /data`,
    `rm() { :; }; eval 'unset -f rm'; rm /data`,
    `rm() { :; }; u=unset; $u -f rm; rm /data`,
    `rm() { :; }; u='unset -f rm'; $u; rm /data`,
    `v=ls; w='export v=rm'; $w; $v /data`,
    `bash -c 'v=ls; $1; $v /data' _ 'export v=rm'`,
    // Names that stand for others.
    `shopt -s expand_aliases\nalias a=b b=rm\na /data`,
    `shopt -s expand_aliases\nalias s='command ' z=rm\ns z /data`,
    `shopt -s expand_aliases; alias a=command; eval 'a rm /data'`,
    `shopt -s expand_aliases; eval 'alias a=command'\na rm /data`,
    `shopt -s expand_aliases; v=ls; alias a='v=rm'\na\n$v /data`,
    `BASH_ALIASES[a]=command; shopt -s expand_aliases\na rm /data`,
    `hash -p "$(command -v rm)" foo; foo /data`,
    // Words that are an earlier command.
    `set -o history\nhistory -s 'rm /data'\nfc -s rm`,
    `set -o history -o histexpand\n: rm /data\n!!:1*`,
    // Prompts.
    `v="'\\$(rm /data)'"; : "\${v@P}"`,
    `v='\\044(rm /data)'; : "\${v@P}"`,
    // Places that are filled with what is found or read.
    `xargs -I% sh -c '% /data' <<< rm`,
    // Quotes that are letters: in arithmetic, in an index, in what a here-document asks of a variable.
    `: $(( '$(rm /data)' ))`,
    `for ((i=$'$(rm /data)';0;)); do :; done`,
    `v=abc; : "\${v:0:'$(rm /data)'}"`,
    `: "\${v['$(rm /data)']}"`,
    `v['$(rm /data)0']=1`,
    `declare -a v=(['$(rm /data)']=1)`,
    `let "v['\\$(rm /data)']"`,
    `cat <<E\n\${v-'}$(rm /data)'}\nE`,
    // An index out of a text that is found by another name, or is quoted whole.
    `typeset -n v; for v in 'w[$(rm /data)]'; do v=1; done`,
    `f() { : \${!1}; }; f 'w[$(rm /data)]'`,
    `read -r v <<'E'\nw[$(rm /data)]\nE\n((v))`,
    // What is read of a variable by another name.
    `v=w; w='$(rm /data)'; : "\${!v@P}"`,
    // A slash, and an index, that end where the parser does not see it.
    `v=1; : \${v/$(rm /data)/x}`,
    'w[a b]`rm /data`',
    // A builtin in quotes, behind which no word is parsed as an assignment.
    `v=ls; \\export v=rm; $v /data`,
    `v=ls; 'declare' v=rm; $v /data`,
    // Prompts that are read, and input that is given elsewhere.
    `read -r PS4 <<< '$(rm /data)'; set -x; :`,
    `exec 0< <(echo rm /data); bash`,
    `f() { bash; }; f <<< 'rm /data'`,
    `bash <<< 'rm /data' 3<<< x`,
    `cd /dev && . ./stdin <<< 'rm /data'`,
    `echo rm /data | echo $(bash)`,
    // A file that is named by what is run.
    `BASH_ENV='$(rm /data)' bash -c :`,
  ],
  [
    'dash',
    // What only other shells know as a grammar of its own.
    `((rm -f /data))`,
    `[[ a || rm == /data ]]`,
    `function rm\n{ :; }\nrm /data`,
    `alias a=command; eval 'a rm /data'`,
    `eval $'u rm /data'`,
    `ls &>/dev/null rm /data`,
    `w[a; rm /data ]=1`,
    `: "\${v-'}"; rm /data; : "'}"`,
    `ENV='$(rm /data)' dash -i < /dev/null`,
  ],
];
