"""Secrets that tell by their own form what they are: tokens of providers, private keys, URLs with a password. Pure.

A form is looked for only in the lines that hold one of its marks and in those behind them, so a text without any
costs one search for all marks. A group in a pattern is the secret; without a group the whole match is. Where no
group of a pattern took part in a match, there is no secret.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memex.subagent.statements.secrets.marks import Marks, to_small
from memex.subagent.statements.secrets.patterns import lazy_pattern

_WORD_START = r"(?<![A-Za-z0-9])"


@dataclass(frozen=True, slots=True, eq=False)
class _Form:
    """A form.

    Attributes:
        kind: the kind of the secret.
        marks: a text with such a secret contains one of them.
        pattern: finds it.
        ignores_case: whether the marks may also be written with capitals.
        is_short: whether the secret ends no later than in the line behind a mark.
    """

    kind: str
    marks: tuple[str, ...]
    pattern: re.Pattern[str]
    ignores_case: bool = False
    is_short: bool = True


def _token(kind: str, pattern: str, *marks: str) -> _Form:
    """Return the form of a token that begins a word."""
    return _Form(kind, marks, lazy_pattern(_WORD_START + pattern))


_LOGINS = ("zugang", "anmeld", "identifiant", "connexion", "acceso")
_TWILIO = [f"{prefix}{digit}" for prefix in ("SK", "AC") for digit in "0123456789abcdef"]
_GITLAB = ("pat", "dt", "rt", "cbt", "ptt", "ft", "soat")
_FORMS = (
    # Up to its end; of one that is cut off, as far as it looks like one.
    _Form(
        "private key",
        ("PRIVATE KEY",),
        lazy_pattern(
            r"-----BEGIN [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?-----"
            r"(?:(?:[^-]|-(?!----)){0,16000}+-----END [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?-----"
            r"|(?:(?:\\[nr]|[\s>*|#\"'])*+[A-Za-z0-9+/=]{16,}+)*+)"
        ),
        is_short=False,
    ),
    _token("memex key", r"mx_[\w-]{40,64}(?![\w-])", "mx_"),
    _token("memex key", r"mx_(?=[\w-]{0,60}\d)[\w-]{16,64}", "mx_"),
    # The second part passes over what begins as a token does, which is not looked at again from each `eyJ` in it.
    _token("web token", r"(?:(eyJ[\w-]{8,4000}+\.[\w-]{8,8000}+\.[\w-]{8,4000}+)|eyJ[\w-]{8,4000}+)", "eyJ"),
    _token("aws key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])", "AKIA", "ASIA", "ABIA", "ACCA"),
    _token("github token", r"gh[oprsu]_[A-Za-z0-9]{20,255}", "ghp_", "gho_", "ghr_", "ghs_", "ghu_"),
    _token("github token", r"github_pat_\w{20,255}", "github_pat_"),
    _token(
        "gitlab token", rf"gl(?:{'|'.join(_GITLAB)})-[\w.-]{{16,64}}", *(f"gl{kind}-" for kind in _GITLAB)
    ),
    _token("slack token", r"xox[abeoprs]-[\w-]{10,255}", "xox"),
    _token("slack token", r"xapp-\d-[\w-]{20,255}", "xapp-"),
    _Form(
        "slack webhook",
        ("hooks.slack.com/",),
        lazy_pattern(r"hooks\.slack\.com/(?:services|workflows)/([\w/]{20,255})"),
    ),
    _Form(
        "discord webhook",
        ("/api/webhooks/",),
        lazy_pattern(r"discord(?:app)?\.com/api/webhooks/(\d{15,22}/[\w-]{50,100})"),
    ),
    _token("stripe key", r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,255}", "_live_", "_test_"),
    _token("webhook secret", r"whsec_[A-Za-z0-9+/=]{16,128}", "whsec_"),
    _token("api key", r"sk-(?=[\w-]{0,120}\d)[\w-]{16,512}", "sk-"),
    _token("google api key", r"AIza[\w-]{30,60}", "AIza"),
    _token("google token", r"ya29\.[\w-]{20,2048}", "ya29."),
    _token("google token", r"GOCSPX-[\w-]{20,60}", "GOCSPX-"),
    _token("google token", r"1//0[\w-]{30,255}", "1//0"),
    _token("sendgrid key", r"SG\.[\w-]{16,64}\.[\w-]{16,128}", "SG."),
    _token("npm token", r"npm_[A-Za-z0-9]{30,128}", "npm_"),
    _token("pypi token", r"pypi-[\w-]{30,512}", "pypi-"),
    _token("hugging face token", r"hf_[A-Za-z0-9]{30,128}", "hf_"),
    _token("digitalocean token", r"do[oprs]_v1_[0-9a-f]{32,128}", "_v1_"),
    _token("twilio key", r"(?:SK|AC)[0-9a-f]{32}(?![A-Za-z0-9])", *_TWILIO),
    _token("telegram token", r"\d{8,10}:AA[\w-]{32,36}(?![\w-])", ":AA"),
    _token("shopify token", r"shp(?:at|ss|ca|pa)_[0-9a-fA-F]{32}", "shpat_", "shpss_", "shpca_", "shppa_"),
    _token("square token", r"(?:EAAA[\w-]{50,80}|sq0(?:atp|csp)-[\w-]{22,50})(?![\w-])", "EAAA", "sq0"),
    _token("linear key", r"lin_(?:api|oauth)_[A-Za-z0-9]{30,80}", "lin_"),
    _token("notion token", r"(?:ntn_|secret_)(?=[A-Za-z]{0,40}\d)[A-Za-z0-9]{40,60}", "ntn_", "secret_"),
    _token("databricks token", r"dapi[0-9a-f]{32}(?:-\d)?", "dapi"),
    _token("vault token", r"hv[sbr]\.[\w-]{24,255}", "hvs.", "hvb.", "hvr."),
    _token("age key", r"AGE-SECRET-KEY-1[0-9A-Z]{20,80}", "AGE-SECRET-KEY-"),
    _token("postman key", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}", "PMAK-"),
    _token("new relic key", r"NR(?:AK|II|JS|RA)-[A-Za-z0-9]{20,60}", "NRAK-", "NRII-", "NRJS-", "NRRA-"),
    _token("grafana token", r"gl(?:sa|c)_[A-Za-z0-9+/=_]{32,400}", "glsa_", "glc_"),
    _token("docker token", r"dckr_[po]at_[\w-]{20,60}", "dckr_"),
    _token("atlassian token", r"AT(?:ATT|CTT|BB)3?[\w=.-]{30,400}", "ATATT", "ATCTT", "ATBB"),
    _token("mailgun key", r"key-[0-9a-f]{32}(?![0-9a-z])", "key-"),
    _token("supabase token", r"sbp?_(?:secret_)?[0-9A-Za-z_-]{32,64}", "sbp_", "sb_secret_"),
    _token("planetscale token", r"pscale_(?:tkn|pw|oauth)_[\w.-]{30,64}", "pscale_"),
    _token(
        "doppler token", r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}", "dp."
    ),
    _token(
        "azure key",
        r"(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,100}={0,2})",
        "AccountKey=",
        "SharedAccessKey=",
    ),
    _token(
        "one-time password secret", r"otpauth://[^\s]{1,200}[?&]secret=([A-Za-z2-7]{16,128})", "otpauth://"
    ),
    _token("heroku key", r"HRKU-[\w-]{36,80}", "HRKU-"),
    _token("figma token", r"figd_[\w-]{40,60}", "figd_"),
    _token("airtable token", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}", "pat"),
    _token("fly token", r"fo1_[\w-]{43}|FlyV1 fm\d_[\w+/=,-]{100,2000}", "fo1_", "FlyV1"),
    _token("sentry token", r"sntry[us]_[\w+/=]{40,400}", "sntry"),
    _token("password in a url", r"[a-z][a-z0-9+.-]{1,20}://[^\s/:@<>]{0,100}:([^\s/@<>{}\[\]]{3,200})@", "@"),
    _token(
        "access token", r"(?i:Bearer)\s{1,3}" + r"(?=[\w.~+/-]{0,80}\d)([\w.~+/-]{16,4096}={0,2})", "earer"
    ),
    _token("credentials", r"(?i:Authorization:\s{0,3}Basic)\s{1,3}([A-Za-z0-9+/]{8,400}={0,2})", "asic "),
    _token("password", r"(?i:password|passwd|pwd) ([^\s\"'`,;()<>{}\[\]]{6,64})(?=\s*$)", "machine "),
    _Form(
        "password",
        ("-u ", "-u=", "--user ", "--user=", "-pass"),
        lazy_pattern(
            r"(?<!\S)(?:-u|--user)[ =]['\"]?[^\s:'\"]{1,60}:([^\s'\"<>{}$]{3,100})"
            r"|(?<!\S)--?pass(?:word|wd|phrase)?[ =]['\"]?([^\s'\"<>{}$-][^\s'\"<>{}]{3,100})"
        ),
    ),
    _Form(
        "password",
        ("dmin", "root", "dministrator", "uperuser"),
        lazy_pattern(
            r"(?<!\S)(?i:admin|root|administrator|superuser)(?: ?[/:] ?| )(?!v?\d+\.\d|\d+[-/])"
            r"(?=[^\s/]{0,40}\d)(?=[^\s/]{0,40}[^\W\d_])([^\s/:,;.()<>\[\]{}]{6,40})(?=[.,;!]?(?:\s|$))"
        ),
    ),
    # A name and a password behind a slash: `ada / h4lf-term!`.
    _Form(
        "password",
        ("/ ",),
        lazy_pattern(
            r"(?<!\S)[\w.@+-]{2,40}+ ?/ (?=[^\s]{0,40}\d)(?=[^\s]{0,40}[^\W\d_])(?=[^\s]{0,40}[!#$%&*?=+^~@])"
            r"([^\s/()<>\[\]{}]{8,40})(?![^\s])"
        ),
    ),
    # A login with both its parts, and a password between words that say what it is.
    _Form(
        "password",
        (
            "credential",
            "credencial",
            "login",
            "log-in",
            "log in",
            *_LOGINS,
            "konto",
            "compte",
            "cuenta",
            "account",
        ),
        lazy_pattern(
            r"(?<![^\W_])(?i:credentials?|log-?in|zugangsdaten|zugang|anmeldung|identifiants?|connexion|acceso"
            r"|credenciales"
            r"|konto|compte|cuenta|account)(?![^\W_])[^\n/:=]{0,60}[:=]\s{0,3}[\w.@+-]{2,60}+ ?[/|,;] ?"
            r"(?=[^\s]{0,60}\d)(?=[^\s]{0,60}[^\W\d_])([^\s\"'`,;()<>\[\]{}/]{6,60})"
        ),
        ignores_case=True,
    ),
    _Form(
        "password",
        ("credentials", "login", "log-in", "log in", "sign", "connecter", "entra", "inicia sesión", *_LOGINS),
        lazy_pattern(
            r"(?<![^\W_])(?i:log-? ?in|sign ?in|zugangsdaten|anmeld\w{1,6}|connexion|connecter|identifiants?|entra"
            r"|inicia sesión|acceso|credentials)(?![^\W_])[^\n]{1,60}? "
            r"(?:and(?: then| use)?|und|et|y|puis|con|then) [\"'`]?"
            r"(?=[^\s]{0,60}\d)(?=[^\s]{0,60}[^\W\d_])(?![^\s]{0,60}[/@])([^\s\"'`,;()<>\[\]{}]{6,60}?)"
            r"(?=[\"'`.]?(?:\s*$| as ))"
        ),
        ignores_case=True,
    ),
    _Form(
        "password",
        ("assword", "asswort", "ennwort", "ontraseña", "ot de passe", "assphrase"),
        lazy_pattern(
            r"(?i:password|passwort|kennwort|contraseña|mot de passe|passphrase) [\"'`]?(?=[^\s]{0,40}[a-z])"
            r"(?=[^\s]{0,40}[A-Z])(?=[^\s]{1,40}[!#%&*?+^~@][A-Za-z0-9])([^\s\"'`,;()<>\[\]{}/]{8,60}?)"
            r"(?=[\"'`.]?(?:\s|$))"
        ),
    ),
    _Form(
        "private key",
        ("0x",),
        lazy_pattern(
            r"(?i:private|secret|wallet|eth)[^\n]{0,40}?(?<![0-9A-Za-z])(0x[0-9a-fA-F]{64})(?![0-9a-zA-Z])"
        ),
    ),
    # An address and a password behind it.
    _Form(
        "password",
        ("@",),
        lazy_pattern(
            r"@[\w-]{1,60}(?:\.[\w-]{1,30}){1,3}\s{0,3}[,;|]\s{0,3}(?=[^\s]{0,40}\d)(?=[^\s]{0,40}[^\W\d_])"
            r"(?=[^\s]{0,40}[!#$%&*?=+^~_-]|[^\s]{0,40}[a-z0-9][A-Z][a-z]|[A-Z][a-z]{2,20}\d{2})"
            r"([^\s\"'`,;/@()<>\[\]{}]{6,40})(?=[\"'`,;.)]*(?:\s|$))"
        ),
    ),
    # `DB_PASSWORD=…`, `client_secret: "…"`: letters and digits, and none of the signs of a program.
    _Form(
        "password",
        ("ass", "ASS", "ecret", "ECRET", "oken", "OKEN", "key", "Key", "KEY"),
        lazy_pattern(
            r"(?:PASS(?:WORD|WD|PHRASE)?|SECRET(?:_?(?:ACCESS_?)?KEY)?|TOKEN|_KEY"
            r"|pass(?:word|wd|phrase)|[Ss]ecret(?:_?(?:access_?)?key)?|[Tt]oken|[a-z_-][kK]ey)"
            r"[\"']?\s{0,3}[:=]\s{0,3}[\"'`]?(?=[^\s\"'`]{0,80}\d)(?=[^\s\"'`]{0,80}[A-Za-z])"
            r"(?![A-Za-z_.]{0,40}[(\[{])([^\s\"'`,;()<>{}\[\]$\\]{10,512})"
        ),
    ),
)


# A form without a mark, and what is found fast of it.
_DISCORD = _token("discord token", r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,45}(?![\w-])")
_DISCORD_END = re.compile(r"\.[\w-]{6}\.[\w-]{27}")


def _by_mark() -> dict[str, list[tuple[_Form, frozenset[str]]]]:
    """Return the forms of each mark in small letters, with the ways in which it is written; none if any will do."""
    found: dict[str, list[tuple[_Form, frozenset[str]]]] = {}
    for form in _FORMS:
        for small in dict.fromkeys(mark.lower() for mark in form.marks):
            written = [] if form.ignores_case else [mark for mark in form.marks if mark.lower() == small]
            found.setdefault(small, []).append((form, frozenset(written)))
    return found


_FORMS_OF = list(_by_mark().values())
_MARKS = Marks(_by_mark())


def find_forms(text: str, small: str | None = None) -> Iterator[tuple[str, int, int]]:
    """Yield the kind of each secret that its form gives away, and from where to where it reaches.

    Args:
        text: the text.
        small: the same in small letters (`to_small`), if it is known.
    """
    if _DISCORD_END.search(text):
        yield from _matches(_DISCORD, text, 0, len(text))
    marked = _marked_lines(text, to_small(text) if small is None else small)
    # Of two kinds of the same secret the first counts, and `password` says less than the name of a provider.
    for form in sorted(marked, key=lambda form: form.kind == "password"):
        for start, end in marked[form] if form.is_short else [(0, len(text))]:
            yield from _matches(form, text, start, end)


def _marked_lines(text: str, small: str) -> dict[_Form, list[tuple[int, int]]]:
    """Return from where to where the lines with a mark of a form reach, each with the line behind it."""
    found: dict[_Form, list[tuple[int, int]]] = {}
    line_start, line_end, following_end = 0, -1, 0
    for index, start, end in _MARKS.find(small):
        if start > line_end:
            line_start, line_end = text.rfind("\n", 0, start) + 1, end_of_line(text, start)
            following_end = end_of_line(text, line_end + 1)
        for form, written in _FORMS_OF[index]:
            if written and text[start:end] not in written:
                continue
            spans = found.setdefault(form, [])
            if not spans or line_start > spans[-1][1] + 1:
                spans.append((line_start, following_end))
            elif following_end > spans[-1][1]:
                spans[-1] = spans[-1][0], following_end
    return {form: found[form] for form in _FORMS if form in found}


def end_of_line(text: str, start: int) -> int:
    """Return where the line that `start` stands in ends."""
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _matches(form: _Form, text: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    for match in form.pattern.finditer(text, start, end):
        group = match.lastindex or 0
        if form.pattern.groups and not group:
            continue
        yield form.kind, match.start(group), match.end(group)
