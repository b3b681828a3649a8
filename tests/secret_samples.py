"""Texts with secrets, and source code that only looks like it.

The secrets are synthetic and built at run time, so that secret scanners stay quiet about this file.
"""

from __future__ import annotations


def fill(length: int, unit: str = "a1B2c3D4") -> str:
    return (unit * length)[:length]


def hexa(length: int) -> str:
    return fill(length, "0a1b2c3d4e5f")


PLAIN = fill(20)
GITHUB = "gh" + "p_" + fill(36)
AWS = "AK" + "IA" + fill(16, "Q2W3E4R5")
AWS_SECRET = "wJal" + fill(36, "rXU1nFE/K7MD+bPx")
JWT = "ey" + "J" + fill(20) + ".ey" + "J" + fill(40) + "." + fill(43)
LINES = [
    fill(64, "MIIEvQ1BADANBgkqhk+iG9w0/BAQ"),
    fill(64, "gSjAgEAAo1BAQC7VJTUt9Us8c"),
    "x9Kf4w==",
]
BEGIN, END = ("-----" + edge + " RSA PRIVATE KEY-----" for edge in ("BEGIN", "END"))
PEM = "\n".join([BEGIN, *LINES, END])

BY_SHAPE = [
    ("anthropic-key", "sk-" + "ant-api03-" + fill(40)),
    ("openai-key", "sk-" + fill(48)),
    ("openai-key", "sk-" + "proj-" + fill(30) + "_" + fill(30)),
    ("aws-key", AWS),
    ("aws-key", AWS + "," + AWS_SECRET),
    ("aws-key", "AK" + "IAIOSFODNN7" + "EXAMPLE"),
    ("aws-key", "AS" + "IA" + fill(16, "Q2W3E4R5")),
    ("google-key", "AI" + "za" + fill(35)),
    ("google-oauth", "GOC" + "SPX-" + fill(28)),
    *(("github-token", f"gh{kind}_" + fill(36)) for kind in "pousr"),
    ("github-token", "github" + "_pat_" + fill(22) + "_" + fill(59)),
    ("gitlab-token", "gl" + "pat-" + fill(20)),
    *(("slack-token", f"xox{kind}-" + "123456789012-" + fill(24)) for kind in "abprs"),
    ("slack-token", "xa" + "pp-1-A012-" + fill(24)),
    ("stripe-key", "sk" + "_live_" + fill(24)),
    ("stripe-key", "rk" + "_live_" + fill(24)),
    ("webhook-secret", "whs" + "ec_" + fill(32)),
    ("npm-token", "np" + "m_" + fill(36)),
    ("pypi-token", "py" + "pi-AgEI" + fill(80)),
    ("huggingface-token", "h" + "f_" + fill(34)),
    ("sendgrid-key", "SG" + "." + fill(22) + "." + fill(43)),
    ("twilio-key", "S" + "K" + hexa(32)),
    ("digitalocean-token", "do" + "p_v1_" + hexa(64)),
    ("databricks-token", "da" + "pi" + hexa(32)),
    ("discord-token", "." + fill(6) + "." + fill(27)),
    ("telegram-token", "A" + "A" + fill(33)),
    ("shopify-token", "shp" + "at_" + hexa(32)),
    ("linear-key", "lin" + "_api_" + fill(40)),
    ("groq-key", "gs" + "k_" + fill(52)),
    ("grafana-token", "gl" + "sa_" + fill(32) + "_" + hexa(8)),
    ("docker-token", "dckr" + "_pat_" + fill(27)),
    ("vault-token", "hv" + "s." + fill(40)),
    ("age-key", "AGE-SECRET" + "-KEY-1" + fill(58, "Q2W3E4R5")),
    ("jwt", JWT),
    ("jwt", JWT.rpartition(".")[0] + "."),
    ("jwt", "ey" + "J" + fill(30) + f".{fill(40)}.{fill(16)}.{fill(60)}.{fill(22)}"),
    ("private-key", PEM),
    ("private-key", PEM.replace("RSA ", "")),
    ("private-key", PEM.replace("RSA", "OPENSSH")),
    ("private-key", PEM.replace("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK")),
    ("private-key", PEM.replace(BEGIN, f"{BEGIN}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES,0A1B\n")),
    ("private-key", PEM.replace("\n", "\\n")),
    ("private-key", PEM.replace("\n", "\\\\n")),
    ("private-key", PEM.replace("\n", "\r\n")),
    ("private-key", PEM.replace("\n", '\\n"\n    + "')),
    ("private-key", PEM.replace("\n", "\n-")),
    ("private-key", "\n".join([BEGIN, *LINES])),
    ("private-key", "\n".join([BEGIN, LINES[0], LINES[1][:30]])),
    ("private-key", "\\n".join([BEGIN, LINES[0], LINES[1][:30]])),
    ("private-key", "\n+".join([BEGIN, *LINES[:2]])),
    ("private-key", f"{BEGIN}\n   2\t{LINES[0]}\n   3\t{LINES[1]}"),
]
BEFORE = {"discord-token": "M" + fill(23), "telegram-token": "123456789:"}

# rule, text with {} for the secret, secret
BY_PLACE = [
    ("bearer-token", "Authorization: Bearer {}", fill(40)),
    ("bearer-token", "-H 'authorization: bearer {}'", hexa(32)),
    ("bearer-token", 'headers = {{"Authorization": "Bearer {}"}}', fill(40)),
    ("bearer-token", '{{\\"Authorization\\": \\"Bearer {}\\"}}', fill(40)),
    ("bearer-token", '{{"name": "Authorization", "value": "Bearer {}"}}', fill(40)),
    ("jwt", "Authorization: Bearer {}", JWT),
    ("authorization", "Authorization: Basic {}", "dXNlcjpwYXNz" + "d29yZA=="),
    ("authorization", "curl -H 'Authorization: Basic {}' https://api.test", "dXNlcjpw" + "YXNz"),
    ("authorization", "Authorization: token {}", hexa(40)),
    ("authorization", "Authorization: {}", fill(32)),
    ("authorization", "Proxy-Authorization: Basic {}", "dXNlcjpwYXNz" + "d29yZA=="),
    ("curl-password", "curl -u admin:{} https://api.test", "hunter2"),
    ("curl-password", "curl -sS --user 'admin:{}' https://api.test", "p@ss:w0rd"),
    ("curl-password", 'curl https://api.test \\\n  -d "a=b" \\\n  -u "admin:{}"', "hunter2"),
    ("curl-password", "curl -u :{} https://api.test", "hunter2"),
    ("url-password", "postgres://app:{}@db.internal:5432/main", "hunter2"),
    ("url-password", "DATABASE_URL=mysql://root:{}@127.0.0.1/app", "s3cr3t!"),
    ("url-password", "redis://:{}@cache:6379/0", "hunter2"),
    ("url-password", "mongodb+srv://app:{}@cluster0.test/?retryWrites=true", "p@ss.word"),
    ("url-password", "see https://user:{}@host/path", "pass"),
    ("github-token", "git clone https://x-access-token:{}@github.com/a/b.git", GITHUB),
    ("github-token", "git clone https://{}@github.com/a/b.git", GITHUB),
    ("url-token", "git clone https://{}@git.internal/a/b.git", hexa(40)),
    ("url-token", "https://{}:@git.internal/a.git", hexa(40)),
    ("slack-webhook", "https://hooks.slack.com/services/{}", "T0A1B2C3D/B0A1B2C3D/" + fill(24)),
    ("discord-webhook", "https://discord.com/api/webhooks/123456/{}", fill(68)),
    ("netrc-password", "machine api.test login bob password {}", "hunter2"),
    ("netrc-password", "machine api.test\n  login bob\n  password {}\n", "hunter2"),
    ("netrc-password", "machine api.test login bob account x password {}", "hunter2"),
]
NAMED = [
    ("password", "password={}", "hunter2"),
    ("password", 'password = "{}"', "hunter2"),
    ("password", "password: {}", "hunter2"),
    ("password", '"password": "{}"', "hunter2"),
    ("password", '"password": "{}"', "letmein"),
    ("password", '"password": "{}"', "p@ssphrase!"),
    ("password", '{{\\"password\\": \\"{}\\"}}', "hunter2"),
    ("password", 'config["password"] = "{}"', "hunter2"),
    ("password", "'password' => '{}',", "hunter2"),
    ("password", 'password: str = "{}"', "hunter2"),
    ("password", 'if password == "{}":', "hunter2"),
    ("password", 'connect(user="bob", password="{}")', "hunter2"),
    ("password", "const dbPassword = `{}`;", "hunter2"),
    ("password", "DB_PASSWORD={}", "swordfish"),
    ("password", "export PGPASSWORD={} && psql", "hunter2"),
    ("password", "mysqldump --password={} app", "swordfish"),
    ("password", "tool --password {} run", "hunter2"),
    ("password", "passwd = {}", "hunter2"),
    ("password", "Server=db;User Id=sa;Pwd={};Encrypt=true", "swordfish"),
    ("password", "spring.datasource.password={}", "hunter2"),
    ("password", "<password>{}</password>", "hunter2"),
    ("password", "- name: DB_PASSWORD\n  value: {}", "hunter2"),
    ("passphrase", 'passphrase = "{}"', "correct horse battery staple"),
    ("secret", 'client_secret: "{}"', fill(24)),
    ("secret", "?client_secret={}&x=1", fill(24)),
    ("secret", "JWT_SECRET={}", "abcd1234efgh"),
    ("secret", "secret: {}", hexa(32)),
    ("secret-key", 'api_key = "{}"', fill(20)),
    ("secret-key", 'apiKey: "{}",', fill(20)),
    ("secret-key", "X-Api-Key: {}", hexa(32)),
    ("secret-key", "AWS_SECRET_ACCESS_KEY={}", AWS_SECRET),
    ("secret-key", "aws_secret_access_key = {}", AWS_SECRET),
    ("secret-key", 'secretAccessKey: "{}"', AWS_SECRET),
    ("secret-key", "aws_secret_access_key = {}", "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY"),
    ("secret-key", "AccountName=x;AccountKey={};EndpointSuffix=y", fill(86, "aB3+/d9Q") + "=="),
    ("secret-key", "PrivateKey = {}", fill(43, "aB3+/d9Q") + "="),
    ("secret-key", "  secret_key_base: {}", hexa(64)),
    ("secret-key", '"signing_key": "{}"', "dafa7817-e246-48f3-91a7-" + "e87653d587b8"),
    ("token", "FOO_TOKEN={}", fill(20)),
    ("token", "token: {}", fill(20)),
    ("token", '"access_token":"{}"', fill(20)),
    ("token", "self.auth_token = '{}'", fill(20)),
    ("token", "GET /v1/items?token={}&page=2", fill(12)),
    ("token", "deploy --token={}", fill(20)),
    ("token", "deploy --token {} --dry-run", fill(20)),
    ("token", "//registry.test/:_authToken={}", "dafa7817-e246-48f3-91a7-" + "e87653d587b8"),
    ("token", 'os.environ.get("API_TOKEN", "{}")', fill(20)),
    ("token", "${{API_TOKEN:-{}}}", fill(20)),
    ("token", "API_TOKEN_PROD={}", fill(20)),
    ("token", "TOKEN={}", fill(700)),
    ("token", "token: {}", fill(12)),
    ("token", 'token_prod = "{}"', fill(16)),
    ("token", "TOKEN={}", "abcd1234"),
    ("token", "deploy --token={}", "abcd1234"),
    ("password", "PWD={}", "ab1!"),
    ("token", 'token = "see token={}"', fill(20)),
    ("token", 'token = "a token: see token={}"', fill(20)),
    ("github-token", "GITHUB_TOKEN={}", GITHUB),
    ("github-token", "token: {}.", GITHUB),
]

CODE = """
password = get_password()
password = getpass.getpass("Password: ")
password: str
password: str = None
password: string;
password: Optional[str] = Field(default=None)
def login(self, username: str, password: str) -> Token:
token: Token
token: tokenize.TokenInfo
token = os.environ["TOKEN"]
token = os.getenv("GITHUB_TOKEN")
token = os.environ.get("TOKEN", "")
TOKEN=${TOKEN}
TOKEN=$TOKEN
curl -H "Authorization: Bearer $TOKEN" https://api.test
curl -H "Authorization: Bearer ${TOKEN}" -u "$USER:$PASSWORD" https://api.test
headers = {"Authorization": f"Bearer {token}"}
headers["Authorization"] = "Bearer " + token
Authorization: Bearer <your-token>
Authorization: Bearer YOUR_API_TOKEN
Use bearer tokens for authorization: they are required.
token: <your-token>
token: {{ secrets.X }}
token: ${{ secrets.GITHUB_TOKEN }}
const token = process.env.X;
const apiKey = process.env.API_KEY_2;
password=password
password="password"
password = "secret"
password = 'changeme'
password = "change-me-123"
"password": "********"
"password": "xxxxxxxx1"
"password": "your-password-1"
"password": "<password1>"
"password": "[redacted:password]"
"password": "Password"
"password": "Passwort"
"password": "Enter your password (8 characters)"
"password": "string"
"password": "required"
"password": null
"password": true
"password": ""
password: "^1.2.3"
<input type="password" name="password" autocomplete="current-password">
self.token = token
self.password = self.password2
self.token = other.token2
this.token = this.tokens[0]
token2 = token1
max_tokens=1500
max_tokens = 4096
tokens: 120
"input_tokens": 1200, "output_tokens": 88
token_count = 5
token_type: "bearer"
token_url = "https://auth.test/oauth2/v1/token"
next_token = "a1B2c3D4e5F6a7B8c9D0"
tokens = "a1B2c3D4e5F6a7B8c9D0"
tokensByUser = "a1B2c3D4e5F6a7B8c9D0"
secretary = "a1B2c3D4e5F6a7B8c9D0"
token_id = "a1B2c3D4e5F6a7B8c9D0"
"tokenHash": "a1B2c3D4e5F6a7B8c9D0"
token_kind = "abcd1234"
token_prod = "a1B2c3D4e5F6a7B"
token=abcd1234
TOKEN: abcd1234
app.TOKEN=abcd1234
deploy --token abcd1234
sign(token, a1B2c3D4e5F6a7B8)
token = a1B2c3D4e5F6a7B8(x)
token: a1B2c3D4a1B
password: hunt3r
"nextPageToken": "a1B2c3D4e5F6a7B8c9D0"
TOKENIZERS_PARALLELISM=true
TOKENIZER_V2=a1B2c3D4e5F6
tokenizer = "cl100k_base"
secret_key_base: <%= ENV["SECRET_KEY_BASE"] %>
secretName: my-app-tls-2
secret: my-app-secret-v1
secretKeyRef: {name: db, key: password}
arn:aws:secretsmanager:us-west-2:123456789012:secret:MySecret-a1b2c3
"SecretArn": "arn:aws:secretsmanager:us-west-2:123456789012:secret:db-a1b2c3"
key = "a1B2c3D4e5F6a7B8c9D0"
primary_key = "a1B2c3D4e5F6a7B8c9D0"
api_key: str = Field(alias="x-api-key-1")
api_key=settings.api_key2
api_key = config["api_key"]
private_key = load_pem_private_key(data)
PRIVATE_KEY_PATH = "/etc/ssl/private/key-1.pem"
if data.startswith("-----BEGIN RSA PRIVATE KEY-----"):
BEGIN = "-----BEGIN OPENSSH PRIVATE KEY-----"; END = "-----END OPENSSH PRIVATE KEY-----"
color-token: primary
token: "color.blue.500"
--ds-token: blue-500
{ token: "keyword.$2", next: "@pop" }
{ token: "string.escape", foreground: "ff00aa" }
commit 3f786850e387550fdab836ed7e6dc881de23001b
git show 3f786850e387550fdab836ed7e6dc881de23001b:src/token.py
id: dafa7817-e246-48f3-91a7-e87653d587b8
"integrity": "sha512-Zs1hL4wWvC9uPZ2m0pZzlrS5v4Fq2mJqB0Kk1E3pV7qW8xYt6uRa3oQbNcDdEeFfGgHhIiJj=="
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4
//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbXX0=
write to alice@example.com or bob.smith+tag@mail.test
scp build.tar.gz deploy@host.internal:/srv/app/releases
git clone git@github.com:owner/repo.git
git clone ssh://git@github.com:22/owner/repo.git
http://localhost:8080/@scope/pkg@1.2.3
https://cdn.test/npm/@scope/pkg@1.2.3/dist/index.js
https://host.test:8443/path?q=a@b
https://john.doe@host.test/path
postgres://${DB_USER}:${DB_PASSWORD}@db/main
postgres://{user}:{password}@db/main
https://<user>:<password>@host.test
the machine account password changes every 30 days
docker run -u 1000:1000 image
sudo -u postgres psql
task-1234567890abcdefghij
class="sk-folding-cube-animation-step-12"
disk-0a1b2c3d4e5f0a1b2c3d4e5f0a1b2c3d
npm_config_registry_and_a_very_long_name=1
highs_options_manager_for_all_the_solvers_2=1
hvs. SG. SK AKIA ASIA AIza dapi eyJ :AA ghp_ sk- xoxb- -----BEGIN ://
the token, "a1B2", is short
pwd = os.path.dirname(__file__)
cd "$(pwd)"/src && echo $PWD/x1
"passwordPolicy": {"minLength": 8}
password_hash = "$2b$12$abcdefghijklmnopqrstuv"
passwordless: true
""".strip().splitlines()


def swap(text: str, secret: str) -> str:
    return text.replace("{}", secret).replace("{{", "{").replace("}}", "}")
