"""Patterns: how secrets show in a text. By what they are called, by where they stand, and by their looks.

They are as wide as a text allows that stays readable: what is taken out by mistake costs little. But columns of ordinary data are left alone: a
``key``, a ``group_key``, a ``code`` says nothing by its name.
"""

from __future__ import annotations

import re
from itertools import pairwise

_WORDS = "auth(?:[_.-]?header)?|basic[_.-]?auth|http[_.-]?auth|authorization|(?:db|user|usr|admin|root|key|store|sftp|ftp|mail)[_.-]?pass|sig|signature|sas|pass|pw|jwt|cookie|keytab|creds|hmac|otp|bearer|(?:github|gitlab|azure|databricks|devops|access|my)[_-]pat"

_HUMPS = "Auth(?:Header)?|Authorization|Sig|Signature|Sas|Pass|Pw|Jwt|Cookie|Creds|Hmac|Otp"

_KEYS = "api|access|secret|account|private|encryption|shared|storage|signing|client|auth|license|subscription|consumer|ssh|hmac|app|application|master|functions|pvt|hex|pass|keystore"

_STEMS = (
    "pass", "pw", "secret", "token", "credential", "jaas", "kennwort", "contrase", "пароль", "密码", "masterkey", "auth", "sig", "sas", "jwt", "cookie", "keytab", "creds",
    "hmac", "otp", "bearer", "identified", "-u ", "--user", "_pat", "-pat",
)
"""Of these one is in each text that says something secret by its name, or a key."""

TELLING = (
    r"(?:(?:passw(?:or[dt])?|pass[\s_-]?phrase|passcode|pwd|secret|token(?!i[sz])|credential|jaas|kennwort|contrase[nñ]a|пароль|密码|mot\s+de\s+passe|masterkey|"
    rf"shared[_-]?access[_-]?signature|fs\.azure\.sas\.|(?:{_KEYS})(?:[_.-]?key|\skeys?\b))[\w.$-]{{0,80}}|"
    rf"(?<![a-z0-9])(?:{_WORDS})(?![\w.$-])|(?-i:(?<=[a-z0-9])(?:{_HUMPS})(?![\w.$-])))"
)
"""What names of options have in them whose values are secret; as wide as Spark's own ``spark.redaction.regex``, and wider. Some are words by
themselves only: of ``userPass`` or ``http_auth``, not of ``compass`` or ``author``.
"""

_QUOTED = (
    r"""'(?:[^'\\]|\\.|'')*(?:'(?:\s+'(?:[^'\\]|\\.|'')*')*|$)|"(?:[^"\\]|\\.|"")*(?:"|$)|`[^`]*(?:`|$)"""
    r"""|\{(?:[^}]|\}\})*(?:\}|$)|\[[^\]]*(?:\]|$)"""
)
_ESCAPED = r"""(?P<slashes>\\+)(?P<mark>["'])(?:(?!(?<!\\)(?P=slashes)(?P=mark)).)*(?:(?P=slashes)(?P=mark)|$)"""
_BARE = r"""[^\s;&]+?(?=[,)}\]>"'`]{0,8}(?:[\s;&]|$))"""

_CLOSED = r"""(?:\\*["'`]|%22|&quot;)?(?:\[\w{0,40}\]|%5b\w{0,40}%5d|\]|%5d)?"""
_SCHEME = r"(?:(?:bearer|basic|digest|negotiate|aws4-hmac-sha256|token|api-?key|sharedkey(?:lite)?|aws|oauth|hmac|splunk|ntlm)\s+(?=\S))?"
_SIGN = rf"""(?:\s|%20)*(?:=>|->|:=|==|<=>|<>|!=|=|:|%(?:25)?3[ad]|\\u003[ad]|&\#61;)(?:\s|%20)*(?:%22|&quot;)?{_SCHEME}"""
_COMPARED = r"""\s+(?:not\s+)?(?:r?like|ilike|regexp)\s*(?=["'])"""
_WITHIN = rf"""(?:\s*\)){{1,3}}(?:\s*(?:==?|<=>|<>|!=)\s*(?=["'])|{_COMPARED})"""
_NEXT = r"""\s*,\s*(?:["']?value["']?\s*[:=]\s*|(?:\w+\.)?lit\s*\(\s*)?(?=["'])|\s+(?:value\s*=\s*|(?!in\b|values\b)\w{1,40}\s*\(\s*)?(?=["'`])"""
_AMONG = r"""["'`]?(?:\s*\)){0,3}\s+(?:(?:not\s+)?in\s*\(|(?:not\s+)?between\b|when\b)\s*(?=["'])"""
_PROSE = r"""(?:\s+(?:for|of)\s+[\w.@-]{1,80}|\s+\([\w .@-]{1,80}\))?(?:\s*:\s+|\s+(?:is|was):?\s+(?:now\s+)?)(?=\S*\d)|\s+(?:for|of)\s+[\w.@-]{1,80}\s*=\s*(?=["'])"""
_PLAIN = r"""(?:\s+(?=[^\s/()#*]{8,200}(?:\s|$))|\s\((?=[^\s()]{8,200}\)))(?=\S{0,200}\d)(?=\S{0,200}[a-z])"""

CALLED = re.compile(
    rf"""(?P<said>{TELLING}(?:{_CLOSED}{_SIGN}|["'`]?(?:{_NEXT}|{_COMPARED}|{_WITHIN})))(?P<value>{_ESCAPED}|{_QUOTED}|{_BARE})"""
    rf"""|(?P<given>(?<!-)--[\w.-]{{0,40}}{TELLING}\s+|(?<=\s)(?:-u|--user)\s+["']?[\w.@-]{{1,80}}:(?=\S)|\bidentified\s+(?:with\s+\S{{1,80}}\s+)?(?:by|as)\s+(?:values\s+|password\s+)?|\bbearer\s+(?=[\w.~+/=-]{{8}})"""
    rf"""|{TELLING}(?:{_AMONG}|{_PROSE}|{_PLAIN}))(?P<word>(?:{_QUOTED})(?:\s*(?:,|\band\b)\s*(?:{_QUOTED}))*|{_BARE})""",
    re.IGNORECASE | re.DOTALL,
)
"""A name and its value: said with a sign between them, or by what is given in words."""

ABOUT = re.compile(r"(?:interval|timeout|enabled?|size|lifetime|provider|class|type|count|max|path|context|algorithm|file|keytab)$", re.IGNORECASE)
"""Names of options that say how secrets are dealt with, and not which."""

_LITERAL = r"""(?:'[^']{1,400}'|"[^"]{1,400}")"""

BEHIND = re.compile(
    rf"""(?P<value>{_LITERAL})(?P<said>(?:\s+(?:as\s+)?|\s*(?:==?|<=>|<>|!=)\s*|\s*\)\s*\.\s*(?:alias|name)\s*\(\s*)(?:["'`][\w. -]{{0,40}}?|[\w.]{{0,40}}?){TELLING})""",
    re.IGNORECASE,
)
"""A value with its name behind it: ``'...' AS password``, ``'...' = password``, ``lit('...').alias('password')``."""

ELEMENT = re.compile(
    rf"""(?P<said>(?:(?:<|&lt;)[\w:.-]{{0,80}}?{TELLING}(?:\s[^<>]{{0,200}})?|<name>\s*[\w.-]{{0,120}}?{TELLING}\s*</name>\s*<value|<\w{{1,40}}\s[^<>]{{0,200}}?(?:key|name)\s*=\s*["'][\w.-]{{0,80}}?{TELLING}["'][^<>]{{0,80}})(?:>|&gt;)\s*(?:<!\[CDATA\[)?)"""
    r"""(?P<value>(?:(?!&lt;|\]\]>)[^<]){1,2000})(?=(?:\]\]>\s*)?(?:</|&lt;/))""",
    re.IGNORECASE,
)
"""What an element of XML holds, or a property of Hadoop's."""

LISTED = re.compile(rf"(?P<said>\((?=[^()]{{0,4200}}\)\s*values\b)[^()]{{0,2000}}?{TELLING}[^()]*\)\s*values\b)(?P<values>.*)", re.IGNORECASE | re.DOTALL)
"""Rows of an INSERT that names its columns: which of the values is which, is not looked at."""

CONNECTED = re.compile(
    rf"""(?P<said>;\s*[\w .-]{{0,40}}?{TELLING}\s*=\s*)(?P<value>[^;"'`{{}}\n]{{1,200}})(?=;\s*[\w .-]{{1,60}}=|;?\s*["'`])""", re.IGNORECASE,
)
"""A value between the semicolons of a URL of JDBC, or of a connection string, which may have blanks in it, and ``&``."""

VALUES = re.compile(r"\bvalues\b.*", re.IGNORECASE | re.DOTALL)

TEXT = re.compile(r"""'(?:[^'\\]|\\.)*(?:'|\\?\Z)|"(?:[^"\\]|\\.)*(?:"|\\?\Z)""", re.DOTALL)

STANDING = (
    re.compile(r"(?<=://)[^\s:/@?#]{1,200}:(?!\d{1,5}(?:/|$))[^\s\"'`]{0,1000}(?=@)"),
    re.compile(r"(?<=://)[^\s/?#\"'`]*(?=@)"),
    re.compile(r"(?:(?<=:thin:)|(?<=:oci:)|(?<=:oci8:))[^\s@]{1,1000}(?=@)", re.IGNORECASE),
)
"""User info: of a URL, also one whose password has in it what should be escaped, and as Oracle has it. A host with a port is none."""

CONTAINER = re.compile(r"(?:abfss?|wasbs?|adl)://$", re.IGNORECASE)
"""Before the @ of these stands a container."""

LOOKS = tuple((mark, re.compile(pattern, re.DOTALL)) for mark, pattern in (
    ("AKIA", r"\bAKIA[A-Z0-9]{16}\b"), ("ASIA", r"\bASIA[A-Z0-9]{16}\b"), ("AIza", r"\bAIza[\w-]{35}"), ("ya29.", r"\bya29\.[\w-]{20,}"),
    ("eyJ", r"\beyJ(?:[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?|(?P<other>[\w-]*))"), ("gh", r"\bgh[pousr]_\w{20,}"), ("github_pat_", r"\bgithub_pat_\w{20,}"),
    ("gl", r"\bgl(?:pat|ptt|dt|rt|cbt|soat)-[\w-]{16,}"), ("dapi", r"\bdapi[0-9a-f]{32}\w*"), ("dop_v1_", r"\bdop_v1_[0-9a-f]{64}"),
    ("xox", r"\bxox[abeoprs]-[\w-]{8,}"), ("xapp-", r"\bxapp-[\w-]{8,}"), ("slack.com", r"(?<=hooks\.slack\.com/services/)[\w/+-]{8,}"),
    ("discord", r"(?<=discord\.com/api/webhooks/)[\w/-]{8,}"), (":AA", r"\b\d{8,10}:AA[\w-]{33}\b"), ("sk-", r"\bsk-[\w-]{20,}"),
    ("k_", r"\b[rs]k_(?:live|test)_\w{10,}"), ("whsec_", r"\bwhsec_\w{16,}"), ("hf_", r"\bhf_[A-Za-z0-9]{20,}"), ("npm_", r"\bnpm_[A-Za-z0-9]{30,}"),
    ("pypi-", r"\bpypi-[\w-]{40,}"), ("SG.", r"\bSG\.[\w-]{16,}\.[\w-]{16,}"), ("hv", r"\bhv[sb]\.[\w-]{20,}"), ("shp", r"\bshp(?:at|ss|ca|pa)_[0-9a-f]{32}"),
    ("sid=", r"(?<=[?&;]sid=)[^\s&;?'\"#*]{8,}"), ("PHPSESSID=", r"(?<=[?&;]PHPSESSID=)[^\s&;'\"#*]{8,}"), ("sessionid=", r"(?<=[?&;]sessionid=)[^\s&;'\"#*]{8,}"),
    ("jsessionid=", r"(?<=;jsessionid=)[^\s&;'\"#*]{8,}"), ("webhook.office.com", r"(?<=webhook\.office\.com/)[\w/@%-]{8,}"), ("hooks.zapier.com", r"(?<=hooks\.zapier\.com/)[\w/-]{8,}"),
    ("key=", r"(?<=[?&]key=)[^\s&;'\"#*]{8,}"), ("code=", r"(?<=[?&]code=)[^\s&;'\"#*]{8,}"),
    ("-----BEGIN", r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"),
))
"""Keys and tokens that say by how they begin whose they are, also those that a URL is given without one (of webhooks, ``?key=``, ``?code=``): what has to be in
a text, so that few are looked for, and how they look.
"""

RANDOM = (
    re.compile(r"(?<![\w/+.-])(?P<said>)(?P<value>[A-Za-z0-9/+]{40})(?![\w/+=-]|\.\w)"),
    re.compile(r"(?P<said>(?:passw(?:or)?d|pwd|secret|token)[_.-])(?P<value>[A-Za-z0-9]{8,64})(?![A-Za-z0-9])", re.IGNORECASE),
)
"""What is secret if it ``is_random``: a key of Amazon's without its name, and what stands behind a name as a part of it (``password_...``)."""

ASKED = re.compile(r"""(?P<said>[?&][\w.%-]{1,60}=)(?P<value>[A-Za-z0-9+/~_-]{16,400}={0,2})(?=[&#\s"'`<>),]|$)""")
"""What a URL asks with, which is secret if it ``is_mixed``: hashes and tokens of names that nobody knows."""

KEY = re.compile(
    r"""(?P<said>\b(?:(?P<aes>(?:try_)?aes_)|\w{0,40}?)(?:en|de)crypt\w{0,40}\s*\((?:'[^']*'|"[^"]*"|\([^()]*\)|[^'"(),]){0,200},\s*)"""
    r"""(?P<value>(?:\w+\s*\(\s*|x)?(?:'[^']*'|"[^"]*")|(?(aes)(?:[^\s,()'"]{16}(?:[^\s,()'"]{8}){0,2})(?=\s*[,)])|(?!)))""",
    re.IGNORECASE,
)
"""The key that Spark's functions of AES are given, which is called nothing, and others' that are called like them. In the name of a column it has no quotes,
but the length of one of AES."""


def says_something(text: str) -> bool:
    """Whether something may be called secret in a text. Takes some µs, where ``CALLED`` takes a millisecond: of most texts it is False."""
    folded = text.casefold()
    return any(stem in folded for stem in _STEMS) or ("key" in folded and any(word in folded for word in _KEYS.split("|")))


def is_random(value: str) -> bool:
    """Whether letters and digits change so often that nobody chose them: capitals, small letters and digits, in runs of fewer than three."""
    kinds = ["A" if each.isupper() else "a" if each.islower() else "0" for each in value if each.isalnum()]
    return len(set(kinds)) == 3 and 3 * (1 + sum(one != other for one, other in pairwise(kinds))) > len(kinds)


def is_mixed(value: str) -> bool:
    """Whether letters and digits take turns so often that it is no word with a number."""
    kinds = [each.isdigit() for each in value if each.isalnum()]
    return sum(one != other for one, other in pairwise(kinds)) >= 6
