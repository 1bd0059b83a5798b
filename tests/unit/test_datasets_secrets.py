"""What is secret is nowhere in what is kept; what is not is as it was."""

from __future__ import annotations

import json
import threading
import time
from datetime import datetime, timezone
from html import escape
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bigdebug.datasets.model import Access, Cell, ColumnEdge, Dataset, Field, Process
from bigdebug.datasets.patterns import CALLED, TELLING, says_something
from bigdebug.datasets.secrets import LONGEST, Secrets, options_without_secrets, secret_name, without_secrets
from bigdebug.shown import MASKED

PLACES = (
    "jdbc:postgresql://bob:%s@h:5432/db", "jdbc:postgresql://h/db?user=bob&password=%s&ssl=true", "jdbc:sqlserver://h;user=sa;password=%s;encrypt=true",
    "jdbc:sqlserver://h;password={%s};encrypt=true", "jdbc:oracle:thin:scott/%s@h:1521:ORCL", "jdbc:teradata://h/USER=u,PASSWORD=%s", "s3a://KEYID:%s@bucket/x",
    "https://%s@github.com/x.csv", "https://a.blob.core.windows.net/c/x?sv=2020&sig=%s&se=1", "https://b.s3.amazonaws.com/x?X-Amz-Signature=%s",
    "CREATE TABLE t USING jdbc OPTIONS (url 'jdbc:x', password '%s', dbtable \"t\")", "OPTIONS ('password'='%s')", "OPTIONS (password = \"%s\")",
    "CREATE USER x IDENTIFIED BY '%s'", "SET spark.hadoop.fs.s3a.secret.key=%s", "select f(password => '%s')", '{"password": "%s", "a": 1}',
    '{"a": {"api_key":"%s"}}', "Map(password -> %s, url -> x)", "spark.read.option('password', '%s').load()", 'df.option("fs.s3a.secret.key", "%s")',
    "fs.azure.account.key.acc.dfs.core.windows.net=%s", "fs.azure.account.oauth2.client.secret: %s", "Authorization: Basic %s", "authorization: Bearer %s",
    "curl -H 'X-Auth-Token: %s'", "spark-submit --password %s --x", "spark-submit --my-api-key %s", "login(auth=%s)", "private_key: %s\n",
    'sasl.jaas.config=org.apache.X required username="u" password="%s";', "PWD=%s", "Row(name='x', passwd='%s')", "DefaultEndpointsProtocol=https;AccountKey=%s;E=x",
    "insert into users (name, password) values ('bob', '%s')", "where password in ('x', '%s')", "where user_token <> '%s'", "where password not like '%s'",
    "select '%s' as db_password", "select '%s' `api_key` from t", "password is %s", "the password for bob: %s",
    '"{\\"password\\":\\"%s\\",\\"a\\":1}"', "<password>%s</password>", "<ns:password type='x'><![CDATA[%s]]></ns:password>", "&lt;api_key&gt;%s&lt;/api_key&gt;",
    "<name>fs.s3a.secret.key</name><value>%s</value>", '<add key="db.password" value="%s"/>', '{"name": "password", "value": "%s"}', "dbPass=%s", "userPass: %s",
    "basicAuth=%s", "auth_header=%s", "creds=%s", "passcode=%s", "Invalid API key: %s", "Kennwort: %s", "set password for a = '%s'", "where lower(password) = '%s'",
    "where '%s' = t.password", "select '%s' as `db password`", "lit('%s').alias('password')", "withColumn('password', lit('%s'))", "where token between 'a' and '%s'",
    "case password when '%s' then 1 end", "curl -u bob:%s", 'curl -u "bob:%s"', "jdbc:oracle:oci8:scott/%s@h", "jdbc:bigquery://h;OAuthPvtKey=%s;x=1",
    "identified with mysql_native_password by '%s'", "identified by values '%s'", "ENCRYPTION = (MASTER_KEY = '%s')", 'option(key="password", value="%s")', "password := '%s'",
    "conf['password'] = '%s'", "OPTIONS (password concat('%s', ''))", '<entry key="db.password">%s</entry>', "password\\u003d%s", "password&#61;%s",
    "http://h/x?password[]=%s", "http://h/x?user%5Bpassword%5D=%s", "password%20%3D%20%s", "password%253D%s", "Authorization: Token %s",
    "Invalid token (%s)", "password (prod): %s", 'secrets = ["a", "%s"]', "pass-phrase=%s", "pgp_sym_encrypt(x, '%s')", "x-functions-key: %s", "app_key=%s",
    "ssl.keystore.key=%s", "fs.azure.sas.c.a.blob.core.windows.net=%s", "GITHUB_PAT=%s",
)

PARTS = (
    "jdbc:sqlserver://h;password=my & %s phrase;encrypt=true", "OPTIONS (url 'jdbc:h2:mem:x;USER=sa;PASSWORD=file %s')", "jdbc:sqlserver://h;password={a}}b;%s};encrypt=true",
    "OPTIONS (password 'a' '%s')", "Authorization: SharedKey acc:%s",
)
"""Where a secret is more than this."""

LOOKS = (
    "AKIAIOSFODNN7EXAMPLE", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dBjftJeZ4CVPmB92K27uhbUJU1p1r", "ghp_" + "a1B2" * 9, "dapi" + "0af3" * 8,
    "xoxb-123456789012-abcdefABCDEF", "AIza" + "Sy-_x" * 7, "sk_live_4eC39HqLyjWDarjtT1zdp7dc", "glpat-abcdefghij1234567890", "hf_abcdefghijklmnopqrstuvwxyz123456",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "npm_" + "a1B2" * 9, "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----",
)

secret = st.text(st.sampled_from("abcdefXYZ0123456789+/=_-.!$%^*~#?@:"), min_size=8, max_size=40).map(lambda s: f"Q7{s}9z")

HARMLESS = (
    "select token_count, author from t where author = 'x' and passenger_count = 3", "hdfs://nn:8020/data@2020/x", "abfss://c@acc.dfs.core.windows.net/p",
    "s3://bucket/key=1/part=2", "file:/data/tokens/passwords.csv", "default.orders", "[TABLE_OR_VIEW_NOT_FOUND] The table or view `x` cannot be found.",
    "select * from orders o join items i on o.key = i.key where compass = 'N'", "2026-11-27T01:02:03Z", "jdbc:postgresql://h:5432/db", "a@b.org",
    "FATAL: password authentication failed for user x", "a password is required", "insert into t (a, b) values ('x', 'y')", "select 'v' as author from t",
    "where author in ('x', 'y')", "tokens are read", "s3://bucket/group_key=12345678/primary_key=abcdefg1/key=x", "select key, code from t where key = 'abcdefgh1' and code = 'DE123456'",
    "primary key: order_id12", "select password from users_2024_q1", "<user> <password> are wanted", "country_code=DE123456&key_column=order_id1", "compass=northwest1",
    "the file 0123456789abcdef0123456789abcdef01234567", "tokenizer=BertTokenizer2", "password_reset_2024", "token_BucketCount2024",
    "/Data/Sales2024/Region7/Part1/Orders/Final", "author: bob12345", "partition by (group_key)", "foreign key 'customer1234'", "a key column 'abc12345' of t",
    "password (if any) is asked for", "get_token(column_12)", "read?query=customers_2020_q1_final&limit=1000000", "decrypt(value, customer_name_16)", "where pattern = 'x' and pat = 'y'",
    "jdbc:postgresql://h/d;a=b; it failed", "s3://b/session_id=abcdefgh12/x", "store_key = 12345678",
)

SAID = (
    ("token Zq7plant42x expired", "token *** expired"), ("db passwd Zq7plant42x */", "db passwd *** */"), ("Invalid token Zq7plant42x", "Invalid token ***"),
    ("https://hooks.slack.com/services/T00/B00/Zq7plant42x", "https://hooks.slack.com/services/***"), ("http://h/x?api=1&code=Zq7plant42x", "http://h/x?api=1&code=***"),
    ("/x?key=Zq7plant42x", "/x?key=***"), ("password%3DZq7plant42x%26ssl%3Dtrue", "password%3D***"), ("&quot;password&quot;: &quot;Zq7plant42x&quot;", "&quot;password&quot;: &quot;***&quot;"),
    ("password_Zq157planT09x", "password_***"), ("http://h/x;jsessionid=Zq7plant42x?a", "http://h/x;jsessionid=***"), ("/x?sid=Zq7plant42x", "/x?sid=***"),
    ("https://h/x?v=2&h=0f3a9c27be41d6582&e=1", "https://h/x?v=2&h=***&e=1"), ("https://a.webhook.office.com/webhookb2/Zq7plant42x", "https://a.webhook.office.com/***"),
)


@given(secret, st.sampled_from(PLACES + PARTS))
@example("Q7p/ss9zword", "jdbc:postgresql://bob:%s@h:5432/db")
def test_a_secret_is_taken_out_wherever_it_stands(value: str, place: str) -> None:
    if place.startswith("https://%s"):
        value = value.replace("/", "").replace("?", "").replace("#", "").replace(":", "")
    text = f"before {place.replace('%s', value)} after"
    cleaned = without_secrets(text)
    assert value not in cleaned
    assert MASKED in cleaned
    assert cleaned.startswith("before ")
    assert without_secrets(cleaned) == cleaned


@given(st.text() | st.from_regex(TELLING, fullmatch=True), st.sampled_from(["", "=x", " in ('a')", ": x1", " abcdefg1"]))
def test_what_is_not_looked_at_has_nothing_to_be_found(name: str, rest: str) -> None:
    assert says_something(name + rest) or CALLED.search(name + rest) is None


@pytest.mark.parametrize("value", LOOKS)
def test_what_looks_like_a_key_is_one(value: str) -> None:
    assert without_secrets(f"x {value} y") == f"x {MASKED} y"


@pytest.mark.parametrize(("text", "cleaned"), SAID)
def test_what_is_said_in_other_ways_is_taken_out(text: str, cleaned: str) -> None:
    assert without_secrets(text) == without_secrets(cleaned) == cleaned


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_not_secret_is_as_it_was(text: str) -> None:
    assert without_secrets(text) == text


@given(st.text())
def test_once_more_changes_nothing(text: str) -> None:
    assert without_secrets(without_secrets(text)) == without_secrets(text)


@pytest.mark.parametrize("text", [
    "a" * 10_000_000, "password" * 8_000, "://a:b" * 10_000, "--" * 32_000, "password=" + ")" * 30_000 + "x", "'" * 64_000, "password={" * 7_000, "a:" * 32_000,
    "('" * 30_000, "(password)values" * 4_000, "(password) values " + "'" * 60_000, "'a' " * 16_000, "password in (" + "'a'," * 16_000,
    ";password=" * 6_000, ";password=a b" * 5_000, "?a=" + "a1" * 32_000, "?a1b=" * 12_000, "password 'a' " + "'a' " * 16_000, "x_decrypt(" * 6_000, "password [" * 7_000, "token (" * 9_000,
])
def test_long_texts_take_no_longer_than_they_should_and_are_cut(text: str) -> None:
    assert len(without_secrets(text)) <= LONGEST


@pytest.mark.parametrize("said", ["(password) values " + "('bob', 'hunter22'), " * 900, " password=abcdefgh1," * 400, " password in ('a')" * 400, " aes_encrypt(c, 'KEYKEYKEYKEYKEY1')" * 200])
def test_once_more_changes_nothing_wherever_a_text_is_cut(said: str) -> None:
    for before in range(40):
        cleaned = without_secrets(f"{'x' * before} {said}")
        assert len(cleaned) <= LONGEST
        assert without_secrets(cleaned) == cleaned


def test_a_secret_that_is_cut_in_two_is_not_shown() -> None:
    text = f"{'x ' * 31_990} password='{'S' * 60_000}' tail"
    assert "SSS" not in without_secrets(text)


def test_options_are_secret_by_their_names() -> None:
    given = {"user": "bob", "password": "x", "url": "jdbc:pg://a:b@h/d", "fs.s3a.access.key": "k", "kafka.ssl.truststore.password": "t", "path": "/a"}
    assert all(map(secret_name, ("dbPass", "userPass", "authHeader", "basic_auth", "sfPassword", "licenseKey", "SharedAccessSignature", "PGPASSWORD", "passcode")))
    assert options_without_secrets(given) == {
        "user": "bob", "password": MASKED, "url": f"jdbc:pg://{MASKED}@h/d", "fs.s3a.access.key": MASKED, "kafka.ssl.truststore.password": MASKED, "path": "/a",
    }
    assert not any(map(secret_name, ("path", "key", "header", "author", "passengers", "numPartitions", "primary_key", "group_key", "bypass", "code", "keyColumn", "tokenizer", "TOKENIZERS_PARALLELISM")))


def process(**said: object) -> Process:
    return Process("id", "job", "write", "app", datetime(2026, 1, 1, tzinfo=timezone.utc), **said)  # type: ignore[arg-type]


@given(secret, st.sampled_from(PLACES))
def test_what_one_text_of_a_process_shows_is_taken_out_of_all(value: str, place: str) -> None:
    value = value.translate(str.maketrans("/?#:@+=%", "abcdefgh"))
    told = process(
        text=place.replace("%s", value), error=f"login failed with {value}!", opaque=(f"Odd[{value}]",), cell=Cell(f"/nb/{value}.ipynb"),
        reads=(Access(Dataset("pg://h", f"t_{value}"), schema=(Field(f"c{value}", "int"),)),),
        columns=(ColumnEdge(Dataset("a", "b"), "x", Dataset("pg://h", f"t_{value}"), f"c{value}", "IDENTITY"),),
    )
    cleaned = Secrets().cleaned(told)
    assert value not in repr(cleaned)
    assert cleaned.columns[0].input == cleaned.reads[0].dataset
    assert cleaned.columns[0].used == cleaned.reads[0].schema[0].name
    assert Secrets().cleaned(cleaned) == cleaned


@given(secret)
def test_what_a_configuration_says_is_taken_out_too(value: str) -> None:
    secrets = Secrets()
    secrets.learn({"spark.hadoop.fs.s3a.secret.key": value, "spark.token.renewal-interval": "86400000", "spark.some.url": f"https://u:{value[::-1]}x@h/"})
    told = process(error=f"{value} is no key, nor is {value[::-1]}x; after 86400000 ms")
    assert secrets.cleaned(told).error == f"{MASKED} is no key, nor is {MASKED}; after 86400000 ms"
    assert secrets.text(told.error) == secrets.cleaned(told).error


def test_what_a_configuration_says_is_taken_out_however_it_is_written() -> None:
    value = """Q7 p"l'a\\n&t<9z"""
    secrets = Secrets()
    secrets.learn({"url": f"jdbc:sqlserver://h;user=sa;password={value}", "password": value})
    for form in (json.dumps(value)[1:-1], value.replace("'", "''"), value.replace("'", "\\'"), escape(value), quote_plus(value), quote(value), repr(value)[1:-1]):
        cleaned = secrets.text(f"it said: {form} (as it is)")
        assert "n&t<9z" not in cleaned
        assert cleaned == f"it said: {MASKED} (as it is)"


def test_a_password_of_several_words_in_a_url_is_known_by_the_url() -> None:
    secrets = Secrets()
    secrets.learn({"url": "jdbc:sqlserver://h;user=sa;password=correct horse & battery"})
    assert secrets.text("no: correct horse & battery!") == f"no: {MASKED}!"


def test_each_key_of_a_list_is_known() -> None:
    secrets = Secrets()
    secrets.learn({"parquet.encryption.key.list": "keyA: AAECAwQFBgcICQoLDA0ODw==, keyB: AAECAAECAAECAAECAAECAA=="})
    assert secrets.text("no AAECAAECAAECAAECAAECAA== for column k") == f"no {MASKED} for column k"


def test_types_and_plain_names_are_as_they_were() -> None:
    columns = (Field("password", "struct<password:string,token:int>"), Field("token", "int"))
    told = process(reads=(Access(Dataset("file", "/data/orders"), schema=columns),), text="select password, token from orders")
    assert Secrets().cleaned(told) == told


def test_values_of_an_insert_are_taken_out_where_the_table_has_a_secret_column() -> None:
    table = Access(Dataset("w", "users"), "appended", (Field("name", "string"), Field("password", "string")))
    said = "insert into users values ('bob', 'hunter22'), (\"eve\", null)"
    assert Secrets().cleaned(process(writes=(table,), text=said)).text == "insert into users values ('***', '***'), (\"***\", null)"
    assert Secrets().cleaned(process(text=said)).text == said


@pytest.mark.parametrize("end", ["", "\\", "', 'x", "', \"x\\"])
def test_a_value_of_an_insert_whose_quote_is_never_closed_is_taken_out(end: str) -> None:
    said = f"insert into users (name, password) values ('bob', 'hunter22{end}"
    assert "hunter22" not in without_secrets(said)
    assert without_secrets(without_secrets(said)) == without_secrets(said)
    assert "hunter22" not in Secrets().cleaned(process(text=said, error="not hunter22" if not end else "")).error


def test_a_secret_that_is_no_text_is_taken_out_too() -> None:
    secrets = Secrets()
    secrets.learn({"MY_PASSWORD": "caf\udce9 Q7plant9z"})  # as the environment has bytes that are not UTF-8
    assert secrets.text("no: caf\udce9 Q7plant9z!") == f"no: {MASKED}!"


def test_of_secrets_of_single_queries_the_last_are_known_and_those_of_the_settings_always() -> None:
    secrets = Secrets()
    secrets.learn({"password": "Q7settings9z"})
    for i in range(10_050):
        secrets.learn({"password": f"Q7query{i:06d}"}, passing=True)
    said = secrets.text("Q7settings9z Q7query000000 Q7query010049")
    assert said == f"{MASKED} Q7query000000 {MASKED}"
    began = time.thread_time()
    for _ in range(20):
        secrets.text("select 1 from t" * 20)
    assert time.thread_time() - began < 4


def test_what_threads_learn_at_once_is_known_of_all() -> None:
    secrets, began = Secrets(), threading.Barrier(8)

    def learn(thread: int) -> None:
        began.wait()
        for i in range(100):
            secrets.learn({"password": f"Q7thread{thread}{i:03d}"})

    threads = [threading.Thread(target=learn, args=(i,)) for i in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert "Q7" not in secrets.text(" ".join(f"Q7thread{thread}{i:03d}" for thread in range(8) for i in range(100)))


def test_long_names_that_begin_alike_stay_two() -> None:
    first, other = (Secrets().cleaned(process(reads=(Access(Dataset("file", f"/{'x' * 9_000}{last}")),))).reads[0].dataset for last in "ab")
    assert first != other
    assert len(first.name) <= LONGEST


def test_a_word_that_is_a_password_too_does_not_change_names() -> None:
    told = process(text="password=orders_", reads=(Access(Dataset("postgres://h", "postgres.orders_x")),), error="password=postgres")
    assert Secrets().cleaned(told).reads == told.reads


@pytest.mark.parametrize("said", [
    "select aes_encrypt('a, b', 'KEYKEYKEYKEYKEY1') from t", "aes_encrypt(a, KEYKEYKEYKEYKEY1, GCM, DEFAULT, , )", "try_aes_decrypt(upper(c), unhex('KEYKEYKEYKEYKEY1'))",
    "aes_encrypt(concat(a, b), x'KEYKEYKEYKEYKEY1', 'GCM')", "AES_EnCrypt(c, 'KEYKEYKEYKEYKEY1')",
])
def test_the_key_of_a_cipher_is_called_nothing_and_taken_out(said: str) -> None:
    assert "KEYKEY" not in without_secrets(said)
    assert without_secrets(without_secrets(said)) == without_secrets(said)
    assert without_secrets("aes_encrypt(c, key)") == "aes_encrypt(c, key)"


@pytest.mark.parametrize("said", [
    "(password) values " + "'\\" * 24_000, "password=" + "'\"\\" * 15_000, "(" * 60_000 + "token" * 399, "(" + "token" * 12_000, "--eyJtoken" * 6_400, "eyJ-" * 15_000,
])
def test_texts_that_open_again_and_again_take_no_time(said: str) -> None:
    began = time.thread_time()
    without_secrets(said)
    assert time.thread_time() - began < 2


@pytest.mark.parametrize("said", ["aes_encrypt(" * 5_000, "aes_encrypt((a" * 4_000, "aes_encrypt(" + "'" * 60_000, "aes_encrypt(" + "()" * 30_000])
def test_looking_for_keys_of_ciphers_takes_no_time(said: str) -> None:
    began = time.thread_time()
    without_secrets(said)
    assert time.thread_time() - began < 2
