"""The words for types without parts, and for containers: the same with every pydantic."""

from __future__ import annotations

import collections
import collections.abc
import datetime
import decimal
import fractions
import ipaddress
import pathlib
import re
import uuid
from types import NoneType
from typing import Any

import pydantic
import pydantic_core
import typing_extensions

__all__ = ["CALLABLE", "CONTAINERS", "URLS", "WORDS"]

CALLABLE: Any = collections.abc.Callable

URLS = {
    "AnyUrl": "url",
    "AnyHttpUrl": "any_http_url",
    "HttpUrl": "http_url",
    "AnyWebsocketUrl": "any_websocket_url",
    "WebsocketUrl": "websocket_url",
    "FileUrl": "file_url",
    "FtpUrl": "ftp_url",
    "AmqpDsn": "amqp_dsn",
    "CockroachDsn": "cockroach_dsn",
    "KafkaDsn": "kafka_dsn",
    "MariaDBDsn": "mariadb_dsn",
    "MongoDsn": "mongo_dsn",
    "MySQLDsn": "mysql_dsn",
    "NatsDsn": "nats_dsn",
    "PostgresDsn": "postgres_dsn",
    "RedisDsn": "redis_dsn",
}
"""Pydantic's URL types by name, and the word for each."""

WORDS: dict[Any, str] = {
    str: "str",
    int: "int",
    float: "float",
    bool: "bool",
    complex: "complex",
    NoneType: "null",
    Any: "any",
    object: "any",
    bytes: "bytes",
    bytearray: "bytearray",
    typing_extensions.LiteralString: "str",
    typing_extensions.Never: "never",
    typing_extensions.NoReturn: "never",
    CALLABLE: "callable",
    type: "class",
    datetime.datetime: "datetime",
    datetime.date: "date",
    datetime.time: "time",
    datetime.timedelta: "timedelta",
    decimal.Decimal: "decimal",
    fractions.Fraction: "fraction",
    uuid.UUID: "uuid",
    pathlib.Path: "path",
    pathlib.PurePath: "path",
    re.Pattern: "pattern",
    ipaddress.IPv4Address: "ipv4",
    ipaddress.IPv4Interface: "ipv4_interface",
    ipaddress.IPv4Network: "ipv4_network",
    ipaddress.IPv6Address: "ipv6",
    ipaddress.IPv6Interface: "ipv6_interface",
    ipaddress.IPv6Network: "ipv6_network",
    pydantic_core.Url: "url",
    pydantic_core.MultiHostUrl: "multi_host_url",
    pydantic.JsonValue: "json",
    pydantic.Json: "json_text",
    pydantic.AwareDatetime: "aware_datetime",
    pydantic.NaiveDatetime: "naive_datetime",
    pydantic.PastDatetime: "past_datetime",
    pydantic.FutureDatetime: "future_datetime",
    pydantic.PastDate: "past_date",
    pydantic.FutureDate: "future_date",
    pydantic.ByteSize: "byte_size",
    pydantic.EmailStr: "email",
    pydantic.NameEmail: "name_email",
    pydantic.IPvAnyAddress: "ip",
    pydantic.IPvAnyInterface: "ip_interface",
    pydantic.IPvAnyNetwork: "ip_network",
    pydantic.SecretBytes: "secret_bytes",
    pydantic.SecretStr: "secret_str",
    pydantic.ImportString: "import_string",
}
"""The word for a type; a subclass is another type."""

for _name, _word in URLS.items():
    # Classes since pydantic 2.10; before, annotations of one class, which `facts` tells apart.
    if isinstance(getattr(pydantic, _name, None), type):
        WORDS.setdefault(getattr(pydantic, _name), _word)

CONTAINERS: dict[Any, tuple[str, int]] = {
    list: ("list", 1),
    set: ("set", 1),
    frozenset: ("frozenset", 1),
    dict: ("dict", 2),
    collections.deque: ("deque", 1),
    collections.defaultdict: ("defaultdict", 2),
    collections.OrderedDict: ("ordered_dict", 2),
    collections.abc.Sequence: ("list", 1),
    collections.abc.MutableSequence: ("list", 1),
    collections.abc.Set: ("set", 1),
    collections.abc.MutableSet: ("set", 1),
    collections.abc.Mapping: ("dict", 2),
    collections.abc.MutableMapping: ("dict", 2),
}
"""The word for a container, and how many types it is given."""
