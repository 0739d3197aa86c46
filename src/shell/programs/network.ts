/** Programs that speak to other machines. */
import { each, type Programs } from '../program.js';

const writes =
  '-o --output -O --remote-name --remote-name-all -D --dump-header -c --cookie-jar --trace --trace-ascii --etag-save \
--libcurl --stderr --hsts --alt-svc';

export const networkPrograms: Programs = {
  ...each('socat fping mtr traceroute tracepath dig host nslookup drill whois nmap masscan', { is: 'n' }),
  ...each('ping ping6 telnet', { is: 'n', loopback: { is: 'r' }, values: '-w -i -c -W -p -s -t' }),
  ...each('nc ncat netcat', {
    is: 'n',
    with: { '-e --exec --lua-exec -o --output -x --hex-dump': 'm' },
    loopback: { is: 'r', unless: '-x --proxy -X -g' },
    text: '-c --sh-exec',
    values: '-w -i -p -s -e --exec --lua-exec -o --output',
  }),
  ...each('ab wrk hey autocannon wscat', {
    is: 'n',
    loopback: { is: 'r' },
    values: '-n -c -t -d -z -q -p -T -H -m -s',
  }),
  ...each('memcached mongosh mongo sendmail mail mailx mutt msmtp swaks rclone s3cmd youtube-dl yt-dlp', {
    is: 'n',
  }),
  ...each(
    'aws gcloud gsutil bq az gh glab hub heroku vercel netlify fly flyctl wrangler doctl linode-cli oci ibmcloud firebase',
    {
      is: 'n',
    },
  ),
  ...each(
    'ansible ansible-playbook helm argocd flux skaffold oc pulumi packer vagrant salt puppet websocat grpcurl mosquitto_pub',
    {
      is: 'n',
    },
  ),
  ...each('http https xh', { is: 'n' }),
  'redis-cli': { is: 'n', loopback: { is: 'm', host: '-h -u' }, values: '-h -p -s -a -u -n -r -i' },
  ...each('proxychains proxychains4 torsocks torify tsocks', { is: 'n', runs: 0, values: '-f' }),
  curl: {
    is: 'n',
    with: { [writes]: 'm', '-K --config': 'm' },
    loopback: {
      is: 'r',
      unless:
        '-x --proxy --proxy1.0 --preproxy --socks4 --socks4a --socks5 --socks5-hostname --resolve --connect-to --doh-url',
    },
    values: `${writes} -H -d -X -u -A -b -e -F -T -K --unix-socket -m -w -x --proxy --max-time --retry --retry-delay --data --header \
--request --user --connect-timeout --write-out --data-raw --data-binary --resolve --connect-to --cacert`,
  },
  wget: { is: 'mn', only: { '--spider': 'n' }, values: '-O --output-document -o -P --header' },
  aria2c: { is: 'mn' },
  scp: { is: 'mn', text: '-S -D', values: '-o -i -P -F -J -c -l -X' },
  sftp: { is: 'ni', text: '-S -D', values: '-B -b -c -F -i -J -l -o -P -R -s -X' },
  ...each('ftp lftp ncftp', { is: 'ni' }),
  rsync: {
    is: 'm',
    with: { '--delete --delete-before --delete-after --delete-during --delete-excluded --remove-source-files': 'd' },
    matching: { '^[^/]+:': 'n', '^rsync://': 'n' },
    text: '-e --rsh --rsync-path',
    values: '-e -f --exclude --include --rsync-path',
  },
  psql: {
    loopback: { is: 'm', host: '-h --host' },
    is: 'ni',
    only: { '-c --command -f --file -l --list': 'n' },
    values: '-h -p -U -d -c -f',
  },
  ...each('mysql mariadb', {
    loopback: { is: 'm', host: '-h --host' },
    is: 'ni',
    only: { '-e --execute': 'n' },
    values: '-h -P -u -D -e',
  }),
  ...each('pg_dump mysqldump pg_restore createdb pg_isready', {
    is: 'n',
    loopback: { is: 'm', host: '-h --host' },
    values: '-h --host -p -U -d -f',
  }),
  dropdb: { is: 'dn', loopback: { is: 'd', host: '-h --host' }, values: '-h --host -p -U' },
  kubectl: {
    is: 'n',
    values: '-n --namespace --context --kubeconfig',
    subcommands: each('delete drain replace', { is: 'dn' }),
    otherwise: { is: 'n' },
  },
  ...each('terraform tofu terragrunt', {
    is: 'r',
    subcommands: {
      ...each('apply destroy', { is: 'dn' }),
      ...each('fmt validate', { is: 'm' }),
      ...each('version output show graph', { is: 'r' }),
      init: { is: 'mn' },
    },
    otherwise: { is: 'n' },
  }),
};
