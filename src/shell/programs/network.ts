/** Programs that speak to other machines. */
import { each, type Programs } from '../program.js';

const writes =
  '-o --output -O --remote-name --remote-name-all -D --dump-header -c --cookie-jar --trace --trace-ascii --etag-save';

export const networkPrograms: Programs = {
  ...each(
    'nc ncat netcat socat ping ping6 fping mtr traceroute tracepath dig host nslookup drill whois nmap masscan ab wrk hey',
    {
      is: 'n',
    },
  ),
  ...each(
    'http https xh redis-cli memcached mongosh mongo sendmail mail mailx mutt msmtp swaks rclone s3cmd youtube-dl yt-dlp',
    {
      is: 'n',
    },
  ),
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
  ...each('proxychains proxychains4 torsocks torify tsocks', { is: 'n', runs: 0, values: '-f' }),
  curl: {
    is: 'n',
    with: { [writes]: 'm', '-K --config': 'm' },
    values: `${writes} -H -d -X -u -A -b -e -F -T -K --unix-socket -m`,
  },
  telnet: { is: 'n' },
  wget: { is: 'mn', only: { '--spider': 'n' }, values: '-O --output-document -o -P --header' },
  aria2c: { is: 'mn' },
  scp: { is: 'mn', values: '-o -i -P -F -J -c -l -S' },
  ...each('sftp ftp lftp ncftp', { is: 'ni' }),
  rsync: {
    is: 'm',
    with: { '--delete --delete-before --delete-after --delete-during --delete-excluded --remove-source-files': 'd' },
    matching: { '^[^/]+:': 'n', '^rsync://': 'n' },
    text: '-e --rsh --rsync-path',
    values: '-e -f --exclude --include --rsync-path',
  },
  psql: { is: 'ni', only: { '-c --command -f --file -l --list': 'n' }, values: '-h -p -U -d -c -f' },
  ...each('mysql mariadb', { is: 'ni', only: { '-e --execute': 'n' }, values: '-h -P -u -D -e' }),
  ...each('pg_dump mysqldump pg_restore createdb', { is: 'n' }),
  dropdb: { is: 'dn' },
  kubectl: {
    is: 'n',
    values: '-n --namespace --context --kubeconfig',
    subcommands: each('delete drain replace', { is: 'dn' }),
    otherwise: { is: 'n' },
  },
  ...each('terraform tofu terragrunt', {
    is: 'r',
    dashes: 'single',
    subcommands: {
      ...each('apply destroy', { is: 'dn' }),
      ...each('fmt validate', { is: 'm' }),
      ...each('version output show graph', { is: 'r' }),
      init: { is: 'mn' },
    },
    otherwise: { is: 'n' },
  }),
};
