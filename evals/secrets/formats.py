"""Made-up secrets in the forms that providers publish. They are built when they are needed, and open nothing."""

import base64
import json
import random
import string
from collections.abc import Callable, Mapping

DIGITS = string.digits
HEX = "0123456789abcdef"
WORD = string.ascii_letters + DIGITS
URL_SAFE = WORD + "-_"
BASE64 = WORD + "+/"
BASE32 = string.ascii_uppercase + "234567"

Maker = Callable[[random.Random], str]


def chars(rng: random.Random, alphabet: str, length: int) -> str:
    """Return random characters, with a letter and a digit among those that have both."""
    kinds = [kind for kind in (str.isdigit, str.isalpha) if any(map(kind, alphabet))]
    while True:
        text = "".join(rng.choices(alphabet, k=length))
        if length < 8 or all(any(map(kind, text)) for kind in kinds):
            return text


def uuid(rng: random.Random) -> str:
    """Return an identifier of five groups."""
    return "-".join(chars(rng, HEX, length) for length in (8, 4, 4, 4, 12))


def web_token(rng: random.Random) -> str:
    """Return a signed JSON web token (RFC 7519)."""

    def part(value: dict[str, object]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    head = part({"alg": rng.choice(["HS256", "RS256", "ES256"]), "typ": "JWT"})
    body = part({"sub": chars(rng, DIGITS, 10), "iat": rng.randrange(1_600_000_000, 1_800_000_000)})
    return f"{head}.{body}.{chars(rng, URL_SAFE, 43)}"


def private_key(rng: random.Random) -> str:
    """Return a private key with its 13 lines or more (RFC 7468)."""
    label = rng.choice(["RSA ", "EC ", "", "OPENSSH ", "ENCRYPTED ", "DSA "]) + "PRIVATE KEY"
    lines = [chars(rng, BASE64, 64) for _ in range(rng.randrange(12, 26))] + [chars(rng, BASE64, 30) + "=="]
    return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----"])


def pgp_key(rng: random.Random) -> str:
    """Return an armoured private key of OpenPGP (RFC 9580)."""
    name = "PGP PRIVATE KEY BLOCK"
    lines = [chars(rng, BASE64, 64) for _ in range(rng.randrange(12, 20))]
    return "\n".join(
        [f"-----BEGIN {name}-----", "", *lines, "=" + chars(rng, BASE64, 4), f"-----END {name}-----"]
    )


def connection_url(rng: random.Random) -> str:
    """Return a URL with a password in it."""
    scheme = rng.choice(["postgresql", "postgres", "mysql", "mongodb+srv", "redis", "amqp", "https", "ftp"])
    user = rng.choice(["app", "admin", "memex_user", "reporting", "svc-billing"])
    return f"{scheme}://{user}:{chars(rng, WORD + '!$_-', rng.randrange(10, 24))}@db.example.net/main"


def basic_credentials(rng: random.Random) -> str:
    """Return the value of a header with a name and a password (RFC 7617)."""
    return base64.b64encode(f"deploy:{chars(rng, WORD, 14)}".encode()).decode()


def _prefixed(prefix: str, alphabet: str, least: int, most: int | None = None, suffix: str = "") -> Maker:
    return lambda rng: prefix + chars(rng, alphabet, rng.randint(least, most or least)) + suffix


# Forms that tell by themselves what they are, by the documentation of their providers.
TOKENS: Mapping[str, Maker] = {
    "memex key": _prefixed("mx_", URL_SAFE, 43),
    "aws access key": _prefixed("AKIA", BASE32, 16),
    "aws session key": _prefixed("ASIA", BASE32, 16),
    "github token": lambda rng: rng.choice(["ghp_", "gho_", "ghu_", "ghs_", "ghr_"]) + chars(rng, WORD, 36),
    "github fine-grained token": lambda rng: f"github_pat_{chars(rng, WORD, 22)}_{chars(rng, WORD, 59)}",
    "gitlab token": _prefixed("glpat-", URL_SAFE, 20),
    "slack token": lambda rng: (
        f"xox{rng.choice('bp')}-{chars(rng, DIGITS, 12)}-{chars(rng, DIGITS, 13)}-{chars(rng, WORD, 24)}"
    ),
    "slack webhook": lambda rng: (
        f"https://hooks.slack.com/services/T{chars(rng, BASE32, 8)}/B{chars(rng, BASE32, 10)}"
        f"/{chars(rng, WORD, 24)}"
    ),
    "stripe key": lambda rng: rng.choice(["sk_live_", "rk_live_", "sk_test_"]) + chars(rng, WORD, 24),
    "openai key": lambda rng: f"sk-proj-{chars(rng, URL_SAFE, 74)}T3BlbkFJ{chars(rng, URL_SAFE, 74)}",
    "anthropic key": lambda rng: f"sk-ant-api03-{chars(rng, URL_SAFE, 93)}AA",
    "google api key": _prefixed("AIza", URL_SAFE, 35),
    "google access token": _prefixed("ya29.", URL_SAFE, 100, 160),
    "google client secret": _prefixed("GOCSPX-", URL_SAFE, 28),
    "sendgrid key": lambda rng: f"SG.{chars(rng, URL_SAFE, 22)}.{chars(rng, URL_SAFE, 43)}",
    "npm token": _prefixed("npm_", WORD, 36),
    "pypi token": _prefixed("pypi-AgEIcHlwaS5vcmc", URL_SAFE, 130, 160),
    "hugging face token": _prefixed("hf_", WORD, 34),
    "digitalocean token": _prefixed("dop_v1_", HEX, 64),
    "twilio key": _prefixed("SK", HEX, 32),
    "telegram bot token": lambda rng: f"{chars(rng, '123456789', 10)}:AA{chars(rng, URL_SAFE, 33)}",
    "discord bot token": lambda rng: (
        f"M{chars(rng, WORD, 25)}.G{chars(rng, URL_SAFE, 5)}.{chars(rng, URL_SAFE, 38)}"
    ),
    "discord webhook": lambda rng: (
        f"https://discord.com/api/webhooks/{chars(rng, '123456789', 18)}/{chars(rng, URL_SAFE, 68)}"
    ),
    "shopify token": lambda rng: rng.choice(["shpat_", "shpss_", "shpca_"]) + chars(rng, HEX, 32),
    "square token": _prefixed("EAAA", URL_SAFE, 60),
    "linear key": _prefixed("lin_api_", WORD, 40),
    "notion token": lambda rng: rng.choice(["ntn_", "secret_"]) + chars(rng, WORD, 43),
    "databricks token": _prefixed("dapi", HEX, 32),
    "vault token": _prefixed("hvs.", URL_SAFE, 90, 100),
    "age key": _prefixed("AGE-SECRET-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
    "postman key": lambda rng: f"PMAK-{chars(rng, HEX, 24)}-{chars(rng, HEX, 34)}",
    "new relic key": _prefixed("NRAK-", string.ascii_uppercase + DIGITS, 27),
    "grafana token": lambda rng: f"glsa_{chars(rng, WORD, 32)}_{chars(rng, HEX, 8)}",
    "docker token": _prefixed("dckr_pat_", URL_SAFE, 27),
    "atlassian token": lambda rng: f"ATATT3xFfGF0{chars(rng, URL_SAFE, 171)}={chars(rng, HEX.upper(), 8)}",
    "mailgun key": _prefixed("key-", HEX, 32),
    "azure storage key": lambda rng: (
        f"DefaultEndpointsProtocol=https;AccountName=notes;AccountKey={chars(rng, BASE64, 86)}==;"
        "EndpointSuffix=core.windows.net"
    ),
    "supabase token": _prefixed("sbp_", HEX, 40),
    "planetscale token": _prefixed("pscale_tkn_", URL_SAFE, 43),
    "doppler token": _prefixed("dp.pt.", WORD, 43),
    "web token": web_token,
    "private key": private_key,
    "pgp key": pgp_key,
    "connection url": connection_url,
    "one-time password url": lambda rng: (
        f"otpauth://totp/Example:ada@example.net?secret={chars(rng, BASE32, 32)}&issuer=Example"
    ),
}

# Values that only a name tells from other values: of these, the name is a part of the text.
NAMED: Mapping[str, Maker] = {
    "aws secret key": lambda rng: f"aws_secret_access_key = {chars(rng, BASE64, 40)}",
    "cloudflare token": lambda rng: f"CLOUDFLARE_API_TOKEN={chars(rng, URL_SAFE, 40)}",
    "datadog key": lambda rng: f"DD_API_KEY={chars(rng, HEX, 32)}",
    "environment variable": lambda rng: (
        f"{rng.choice(['DB_PASSWORD', 'SECRET_KEY', 'SMTP_PASS', 'JWT_SECRET', 'ADMIN_PASSWORD'])}="
        f"{chars(rng, WORD + '!%+-', rng.randrange(12, 30))}"
    ),
    "bearer header": lambda rng: f"Authorization: Bearer {chars(rng, URL_SAFE, rng.randrange(32, 64))}",
    "basic header": lambda rng: f"Authorization: Basic {basic_credentials(rng)}",
    "wireguard key": lambda rng: f"PrivateKey = {chars(rng, BASE64, 42)}E=",
    "yaml value": lambda rng: (
        f"{rng.choice(['password', 'client_secret', 'api_key', 'apiKey', 'auth_token'])}: "
        f'"{chars(rng, WORD, rng.randrange(16, 36))}"'
    ),
    "netrc line": lambda rng: f"machine git.example.net login ada password {chars(rng, WORD, 14)}",
    "ethereum key": lambda rng: f"wallet private key: 0x{chars(rng, HEX, 64)}",
}
