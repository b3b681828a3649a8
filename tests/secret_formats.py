"""Formats of secrets, and samples of them that are generated at run time.

A template holds no secret: `<a36>` stands for 36 random letters and digits, and what is between
« and » is the secret. A third of the formats (`HELD_BACK`) was kept aside until the rules of
`kedge.host.redact` were written: they caught 84 % of it at first sight, which is what to expect of
formats that nobody thought of. Then the rules were extended to most of what they had missed.
"""

from __future__ import annotations

import base64
import random
import re
import string
import uuid
import zlib
from typing import NamedTuple

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALPHABETS = {
    "a": LOWER + UPPER + DIGITS,
    "w": LOWER + UPPER + DIGITS + "-_",
    "b": LOWER + UPPER + DIGITS + "+/",
    "h": DIGITS + "abcdef",
    "l": LOWER + DIGITS,
    "U": UPPER + DIGITS,
    "T": UPPER + "234567",
    "d": DIGITS,
    "s": LOWER + UPPER + DIGITS + "!#%&()*+,-./:;<=>?@^_|~ ",
}
_SOME = "swordfish tiger maple rocket winter galaxy copper falcon harbor velvet"
WORDS = _SOME.split()


class Format(NamedTuple):
    family: str
    name: str
    template: str


class Sample(NamedTuple):
    text: str
    secret: str


PREFIX = r"""
anthropic: sk-ant-api03-<w93>AA
openai: sk-<a20>T3BlbkFJ<a20>
openai project: sk-proj-<w74>T3BlbkFJ<w74>
openai service account: sk-svcacct-<w60>T3BlbkFJ<w60>
openrouter: sk-or-v1-<h64>
deepseek: sk-<h32>
aws key id: AKIA<T16>
aws temporary key id: ASIA<T16>
google api key: AIza<w35>
google client secret: GOCSPX-<w28>
google access token: ya29.a0<w120>
google refresh token: 1//0g<w60>
github personal: ghp_<a36>
github fine-grained: github_pat_<a22>_<a59>
github app: ghs_<a36>
github refresh: ghr_<a76>
gitlab personal: glpat-<w20>
gitlab runner: glrt-<w20>
gitlab deploy: gldt-<w20>
gitlab trigger: glptt-<h40>
gitlab job: glcbt-<h2>_<w20>
gitlab feed: glft-<w20>
gitlab agent: glagent-<w50>
gitlab oauth secret: gloas-<h64>
slack bot: xoxb-<d12>-<d13>-<a24>
slack user: xoxp-<d12>-<d12>-<d13>-<h32>
slack app: xapp-1-A<U10>-<d13>-<h64>
slack refresh: xoxe-1-<a146>
slack rotated: xoxe.xoxp-1-<a163>
discord bot: M<w23>.«<w6>.<w38>»
stripe live: sk_live_<a24>
stripe restricted: rk_live_<a24>
stripe test: sk_test_<a24>
stripe webhook: whsec_<a32>
npm: npm_<a36>
pypi: pypi-AgEIcHlwaS5vcmc<w80>
rubygems: rubygems_<h48>
crates.io: cio<a32>
clojars: CLOJARS_<l60>
hugging face: hf_<a34>
hugging face organization: api_org_<a34>
replicate: r8_<a37>
groq: gsk_<a52>
perplexity: pplx-<a48>
xai: xai-<a80>
nvidia: nvapi-<w64>
fireworks: fw_<a24>
langsmith: lsv2_pt_<h32>_<h10>
pinecone: pcsk_<a6>_<a63>
sendgrid: SG.<w22>.<w43>
mailgun: key-<h32>
mailchimp: <h32>-us12
brevo: xkeysib-<h64>-<a16>
resend: re_<a8>_<a24>
twilio: SK<h32>
postman: PMAK-<h24>-<h34>
digitalocean: dop_v1_<h64>
digitalocean refresh: dor_v1_<h64>
databricks: dapi<h32>
telegram bot: <d10>:«AA<w33>»
shopify access: shpat_<h32>
shopify shared: shpss_<h32>
linear: lin_api_<a40>
grafana service account: glsa_<a32>_<h8>
grafana cloud: glc_eyJ<b80>
docker personal: dckr_pat_<w27>
docker organization: dckr_oat_<w32>
vault service: hvs.<w90>
vault batch: hvb.<w140>
terraform cloud: <a14>.atlasv1.«<w60>»
pulumi: pul-<h40>
doppler personal: dp.pt.<a43>
doppler service: dp.st.prd.<a43>
age: AGE-SECRET-KEY-1<T58>
jwt: eyJhbGciOiJI<a20>.eyJzdWIi<a60>.<w43>
atlassian: ATATT3xFfGF0<w170>=<H8>
bitbucket app password: ATBB<a32>
sentry organization: sntrys_eyJ<b120>
sentry user: sntryu_<h64>
new relic user: NRAK-<U27>
new relic insert: NRII-<w32>
dynatrace: dt0c01.<T24>.<T64>
planetscale password: pscale_pw_<w43>
planetscale token: pscale_tkn_<w43>
prefect: pnu_<l36>
easypost: EZAK<a54>
fly.io: FlyV1 fm2_<b160>
frame.io: fio-u-<w64>
infracost: ico-<a32>
launchdarkly sdk: sdk-<u>
square: sq0atp-<w22>
square secret: sq0csp-<w43>
square access: EAAA<w60>
facebook: EAAC<a160>
notion old: secret_<a43>
notion: ntn_<d11><a35>
airtable: pat<a14>.«<h64>»
figma: figd_<w40>
asana: 1/<d16>:«<h32>»
contentful: CFPAT-<w43>
readme: rdme_<l70>
typeform: tfp_<w44>_<w14>
sonarqube: squ_<h40>
supabase: sbp_<h40>
supabase secret: sb_secret_<w31>
netlify: nfp_<a36>
vercel: vcp_<a56>
render: rnd_<a32>
deno: ddp_<a36>
cloudflare origin: v1.0-<h24>-<h146>
heroku: HRKU-AA<w58>
openshift: sha256~<w43>
artifactory: AKCp<a69>
artifactory reference: cmVmdGtu<a56>
azure client secret: <a3>8Q~<w34>
alibaba: LTAI<a20>
tencent: AKID<a32>
tailscale: tskey-auth-<a12>CNTRL-<a32>
buildkite: bkua_<h40>
circleci: CCIPAT_<a22>_<h40>
1password: ops_eyJ<b250>
scaleway: SCW<U17>
shippo: shippo_live_<h40>
adobe: p8e-<a32>
maxmind: <a6>_<a29>_mmk
mapbox: sk.eyJ<w80>.<w22>
octopus: API-<U26>
flutterwave: FLWSECK_TEST-<h32>-X
plaid: access-sandbox-<u>
razorpay: rzp_live_<a14>
braintree: access_token$production$<l16>$<h32>
hubspot: pat-na1-<u>
harness: pat.<a22>.<h24>.<a20>
duffel: duffel_live_<w43>
"""

FIELD = r"""
rails master key: RAILS_MASTER_KEY=«<h32>»
rails secret base: SECRET_KEY_BASE: «<h128>»
django key: SECRET_KEY = 'django-insecure-«<a20>#<a10>)<a19>»'
laravel key: APP_KEY=base64:«<b43>=»
environment password: export DB_PASSWORD=«<p>»
compose password: POSTGRES_PASSWORD: «<p>»
mysql root: MYSQL_ROOT_PASSWORD=«<p>»
short name: SMTP_PASS=«<p>»
short name in yaml: db_pass: «<p>»
short name in json: {"user": "app", "pass": "«<p>»"}
pw: ADMIN_PW='«<p>»'
json password: {"host": "db", "password": "«<p>»"}
yaml password:   password: «<p>»
toml password: password = "«<p>»"
properties: spring.datasource.password=«<p>»
xml: <password>«<p>»</password>
xml attribute: <add key="ApiSecret" value="«<a32>»" />
xml connection: <user name="app" password="«<p>»" />
java: private static final String API_KEY = "«<a32>»";
csharp: string connectionString = "Server=db;Uid=app;Pwd=«<p>»;";
go:     Password: "«<p>»",
php define: define('DB_PASSWORD', '«<p>»');
wordpress key: define('SECURE_AUTH_KEY', '«<s64>»');
ruby: config.secret_key = '«<h128>»'
typescript: const clientSecret: string = '«<a40>»';
python: AUTH_TOKEN = '«<h40>»'
powershell: $env:API_SECRET = "«<a32>»"
batch: set API_TOKEN=«<a32>»
fish: set -x STRIPE_SECRET «<a32>»
dockerfile: ENV JWT_SECRET «<a32>»
terraform: client_secret = "«<w40>»"
helm values:   adminPassword: «<p>»
kubernetes secret: data:\n  password: «<B12>»
kubernetes token:     token: «<a40>»
kubeconfig key:     client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo«<b160>»
docker auth: {"auths": {"ghcr.io": {"auth": "«<B20>»"}}}
docker identity: {"identitytoken": "«<w60>»"}
npm auth: _auth=«<B20>»
npm auth token: //registry.npmjs.org/:_authToken=«<u>»
pypirc: [pypi]\nusername = bob\npassword = «<p>»
aws secret: aws_secret_access_key = «<b40>»
aws session: aws_session_token=«<b200>»
azure storage: AccountName=a;AccountKey=«<b86>==»;EndpointSuffix=core.windows.net
azure bus: SharedAccessKeyName=Root;SharedAccessKey=«<b43>=»
azure client: AZURE_CLIENT_SECRET=«<a34>»
google service account: {"private_key": "-----BEGIN PRIVATE KEY-----\\n«<K>»\\n"}
wireguard: PrivateKey = «<b43>=»
wireguard preshared: PresharedKey = «<b43>=»
jwk: {"kty": "EC", "crv": "P-256", "d": "«<w43>»"}
datadog: DD_API_KEY=«<h32>»
twilio: TWILIO_AUTH_TOKEN=«<h32>»
heroku: HEROKU_API_KEY=«<u>»
algolia: ALGOLIA_ADMIN_KEY=«<h32>»
fastly: FASTLY_KEY=«<w32>»
mistral: MISTRAL_API_KEY=«<a32>»
okta: OKTA_API_TOKEN=00«<w40>»
snyk: SNYK_TOKEN=«<u>»
next: NEXTAUTH_SECRET=«<b43>=»
cookie secret: cookie_secret: «<a32>»
session secret: app.use(session({ secret: '«<a32>»', resave: false }))
hmac: "hmac_key": "«<h64>»"
encryption: ENCRYPTION_KEY=«<h64>»
kafka: sasl.jaas.config=Login required username="app" password="«<p>»";
ldap: bindpw «<p>»
redis: requirepass «<p>»
pgpass: db.internal:5432:app:bob:«<p>»
netrc: machine api.test login bob password «<p>»
sql identified: CREATE USER 'app'@'%' IDENTIFIED BY '«<p>»';
sql password: ALTER ROLE app WITH LOGIN PASSWORD '«<p>»';
sql set: SET PASSWORD FOR 'root'@'localhost' = '«<p>»';
oauth response: {"access_token":"«<w60>»","token_type":"Bearer"}
refresh token: "refresh_token": "«<w60>»"
consumer: consumerSecret=«<a40>»
credentials: credentials: «<a32>»
vnc: VNC_PASSWORD=«<p>»
escaped json: {\\"apiKey\\":\\"«<a32>»\\"}
"""

URL = r"""
postgres: postgres://app:«<p>»@db.internal:5432/main
mysql: DATABASE_URL=mysql://root:«<p>»@127.0.0.1/app
mongodb: mongodb+srv://app:«<p>»@cluster0.test/?retryWrites=true
redis: redis://:«<p>»@cache:6379/0
amqp: amqp://guest:«<p>»@mq:5672/%2f
smtp: smtps://mailer:«<p>»@smtp.test:465
ftp: ftp://bob:«<p>»@files.test/a
git credentials: https://bob:«<a20>»@git.internal
git token: git clone https://«<h40>»@git.internal/a/b.git
pip index: --extra-index-url https://ci:«<a32>»@pypi.internal/simple
sentry dsn: https://<h32>:«<h32>»@sentry.internal/3
proxy: http_proxy=http://bob:«<p>»@proxy:3128
jdbc parameter: jdbc:postgresql://db/app?user=app&password=«<p>»
jdbc sqlserver: jdbc:sqlserver://db;user=sa;password=«<p>»;
jdbc oracle: jdbc:oracle:thin:scott/«<p>»@db:1521/orcl
azure sas: https://a.blob.core.windows.net/c/f?sv=2022-11-02&sp=r&sig=«<q43>%3D»
aws presigned: https://b.s3.amazonaws.com/f?X-Amz-Expires=900&X-Amz-Signature=«<h64>»
aws presigned token: https://b.s3.amazonaws.com/f?X-Amz-Security-Token=«<q200>»&X-Amz-Date=1
google signed: https://storage.googleapis.com/b/f?X-Goog-Signature=«<h256>»
cloudfront signed: https://d1.cloudfront.net/f?Expires=1&Signature=«<w170>»&Key-Pair-Id=K1
access token: https://api.test/v1?access_token=«<a40>»
fragment: https://app.test/callback#access_token=«<a40>»&state=x
api key: https://api.test/v1?q=x&api_key=«<h32>»
apikey: https://api.test/v1?apikey=«<h32>»
client secret: https://api.test/token?client_id=a&client_secret=«<a32>»
token: https://api.test/v1/items?token=«<a24>»&page=2
authorization code: https://app.test/callback?code=«<w60>»&state=x
slack webhook: https://hooks.slack.com/services/T<U8>/B<U8>/«<a24>»
discord webhook: https://discord.com/api/webhooks/<d18>/«<w68>»
teams webhook: https://a.webhook.office.com/webhookb2/<u>@<u>/IncomingWebhook/«<h32>»/<u>
"""

HEADER = r"""
bearer: Authorization: Bearer «<a40>»
bearer in code: headers = {"Authorization": "Bearer «<w60>»"}
basic: Authorization: Basic «<B20>»
token: Authorization: token «<h40>»
plain: Authorization: «<a32>»
proxy: Proxy-Authorization: Basic «<B20>»
api key: X-Api-Key: «<h32>»
api key in json: {"x-api-key": "«<a40>»"}
auth token: X-Auth-Token: «<a32>»
gitlab: PRIVATE-TOKEN: «<w20>»
vault: X-Vault-Token: s.«<a24>»
azure subscription: Ocp-Apim-Subscription-Key: «<h32>»
amazon: x-amz-security-token: «<b200>»
cookie: Cookie: theme=dark; sessionid=«<l32>»
set cookie: Set-Cookie: connect.sid=s%3A«<w32>.<q43>»; Path=/; HttpOnly
cookie in code: headers = {"Cookie": "JSESSIONID=«<H32>»"}
digest: Authorization: Digest username=bob, response=«<h32>»
aws v4: Authorization: AWS4-HMAC-SHA256 Credential=A/2026/r/s3/aws4_request, Signature=«<h64>»
http extra: git -c http.extraheader="AUTHORIZATION: basic «<B40>»" fetch
datadog: DD-APPLICATION-KEY: «<h40>»
"""

COMMAND = r"""
mysql: mysql -u root -p«<p>» app
mysqldump: mysqldump --single-transaction -uroot -p«<p>» app > dump.sql
mariadb: mariadb -h db -u app -p'«<p>»'
sshpass: sshpass -p «<p>» ssh bob@host
sshpass quoted: sshpass -p '«<p>»' scp a bob@host:b
curl user: curl -u admin:«<p>» https://api.test
curl long: curl --user 'admin:«<p>»' https://api.test
curl cookie: curl -b 'session=«<a32>»' https://api.test
wget: wget --user=bob --password=«<p>» https://files.test/a
httpie: http -a bob:«<p>» api.test/v1
redis: redis-cli -h cache -a «<p>» ping
mongo: mongosh -u admin -p «<p>» --authenticationDatabase admin
docker login: docker login -u bob -p «<p>» registry.test
docker long: docker login --username bob --password «<p>» registry.test
docker environment: docker run -e POSTGRES_PASSWORD=«<p>» postgres
az: az login --service-principal -u app -p «<a34>» --tenant t
openssl: openssl rsa -in key.pem -passin pass:«<p>» -out key
openssl key: openssl enc -aes-256-cbc -k «<p>» -in a -out b
ldap: ldapsearch -x -D cn=admin,dc=test -w «<p>» -b dc=test
sqlcmd: sqlcmd -S db -U sa -P «<p>» -Q "select 1"
zip: zip -r -P «<p>» a.zip dir
unzip: unzip -P «<p>» a.zip
7z: 7z a -p«<p>» a.7z dir
gpg: gpg --batch --passphrase «<p>» -d a.gpg
keytool: keytool -list -keystore k.jks -storepass «<p>»
ssh-keygen: ssh-keygen -t ed25519 -N «<p>» -f key
smbclient: smbclient //host/share -U bob%«<p>»
lftp: lftp -u bob,«<p>» ftp.test
plink: plink -ssh bob@host -pw «<p>» uptime
rdp: xfreerdp /u:bob /p:«<p>» /v:host
htpasswd: htpasswd -bc .htpasswd bob «<p>»
chpasswd: echo "bob:«<p>»" | chpasswd
sudo: echo «<p>» | sudo -S apt update
mysqladmin: mysqladmin -u root password «<p>»
vault login: vault login s.«<a24>»
kubectl: kubectl create secret generic db --from-literal=password=«<p>»
aws configure: aws configure set aws_secret_access_key «<b40>»
npm config: npm config set //registry.test/:_authToken «<u>»
flag: deploy --token «<a32>» --dry-run
flag with sign: deploy --api-key=«<h32>»
single dash: influx -username admin -password «<p>»
snmp: snmpwalk -v3 -u bob -A «<p>» host
psql: PGPASSWORD=«<p>» psql -h db -U app
net use: net use z: //host/share /user:bob «<p>»
useradd: mkpasswd -m sha-512 «<p>»
"""

BLOCK = r"""
rsa: -----BEGIN RSA PRIVATE KEY-----\n«<k>»\n-----END RSA PRIVATE KEY-----
pkcs8: -----BEGIN PRIVATE KEY-----\n«<k>»\n-----END PRIVATE KEY-----
ec: -----BEGIN EC PRIVATE KEY-----\n«<k>»\n-----END EC PRIVATE KEY-----
openssh: -----BEGIN OPENSSH PRIVATE KEY-----\n«<k>»\n-----END OPENSSH PRIVATE KEY-----
encrypted: -----BEGIN ENCRYPTED PRIVATE KEY-----\n«<k>»\n-----END ENCRYPTED PRIVATE KEY-----
pgp: -----BEGIN PGP PRIVATE KEY BLOCK-----\n\n«<k>»\n=ab1C\n-----END PGP PRIVATE KEY BLOCK-----
cut off: -----BEGIN RSA PRIVATE KEY-----\n«<k>»
json: {"private_key": "-----BEGIN PRIVATE KEY-----\\n«<K>»\\n-----END PRIVATE KEY-----\\n"}
ssh2: ---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n«<k>»\n---- END SSH2 ENCRYPTED PRIVATE KEY ----
putty: PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 3\n«<k>»\nPrivate-MAC: <h64>
openvpn: -----BEGIN OpenVPN Static key V1-----\n«<x>»\n-----END OpenVPN Static key V1-----
base64: key: LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk«<b400>»
"""

PROSE = r"""
is: the password is «<p>»
is with a name: The root password is «<p>», please rotate it.
is quoted: my password is "«<p>»"
for: password for admin is «<p>»
colon: Password: «<p>»
pw: user bob, pw: «<p>»
token: the token is «<a32>»
api key: our api key is «<a32>»
use: use the token «<h40>» for staging
with: log in as admin with password «<p>»
passphrase: passphrase is '«<P>»'
secret: the client secret is «<a32>»
backticks: The password is `«<p>»`.
credentials: credentials: admin / «<p>»
pair: login with admin:«<p>»
changed: I changed the password to «<p>»
german: das Passwort ist «<p>»
key: here is the secret key «<b40>»
"""

_FAMILIES = {
    "prefix": PREFIX,
    "field": FIELD,
    "url": URL,
    "header": HEADER,
    "command": COMMAND,
    "block": BLOCK,
    "prose": PROSE,
}
# What stands around a key that is recognised by its own shape.
_AROUND = ("use {} here", 'x = "{}"', "{}", "see:\n{}\n")


def _read(family: str, table: str) -> list[Format]:
    rows = (line.partition(": ") for line in table.strip().splitlines())
    return [Format(family, f"{family}: {name}", _unescape(text)) for name, _, text in rows]


def _unescape(template: str) -> str:
    return re.sub(r"\\(.)", lambda sign: "\n" if sign[1] == "n" else sign[1], template)


FORMATS = [one for family, table in _FAMILIES.items() for one in _read(family, table)]
HELD_BACK = [one for one in FORMATS if zlib.crc32(one.name.encode()) % 3 == 0]
OPEN = [one for one in FORMATS if one not in HELD_BACK]


def _fill(kind: str, length: int, draw: random.Random) -> str:
    if kind == "H":
        return "".join(draw.choices(DIGITS + "ABCDEF", k=length))
    if kind == "u":
        return str(uuid.UUID(int=draw.getrandbits(128), version=4))
    if kind == "p":  # as people make them up, and as programs do
        word = draw.choice(WORDS)
        return draw.choice(
            [
                f"{word}{draw.randint(1, 99)}",
                f"{word.title()}{draw.randint(1, 9999)}!",
                f"{word[:3]}{draw.randint(1, 9)}{draw.choice(WORDS).title()}",
                "".join(draw.choices(ALPHABETS["a"], k=14)) + "4x",
            ]
        )
    if kind == "P":
        return " ".join(draw.sample(WORDS, 4))
    if kind == "B":
        pair = f"bob:{''.join(draw.choices(ALPHABETS['a'], k=length))}"
        return base64.b64encode(pair.encode()).decode()
    if kind == "q":
        return "".join(draw.choices(ALPHABETS["a"], k=length - 4)) + "%2Fx1"
    if kind in "kK":
        lines = ("".join(draw.choices(ALPHABETS["b"], k=64)) for _ in range(3))
        return ("\n" if kind == "k" else "\\n").join(lines)
    if kind == "x":
        return "\n".join("".join(draw.choices(ALPHABETS["h"], k=32)) for _ in range(16))
    return "".join(draw.choices(ALPHABETS[kind], k=length))


def make_sample(one: Format, seed: int) -> Sample:
    """Return a text with a secret of that format; the same for the same seed."""
    draw = random.Random(f"{one.name} {seed}")
    text = re.sub(
        r"<([a-zA-Z])(\d*)>", lambda hole: _fill(hole[1], int(hole[2] or 0), draw), one.template
    )
    if one.family == "prefix":
        text = _AROUND[seed % len(_AROUND)].replace("{}", text if "«" in text else f"«{text}»")
    before, _, rest = text.partition("«")
    secret, _, after = rest.partition("»")
    return Sample(before + secret + after, secret)


def is_caught(sample: Sample, redacted: str) -> bool:
    """True if no eight characters in a row of the secret are left."""
    size = min(8, len(sample.secret))
    parts = (sample.secret[at : at + size] for at in range(len(sample.secret) - size + 1))
    return not any(part in redacted for part in parts)
