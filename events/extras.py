"""What is installed by need: each extra of the package, and the command that adds it.

The command line alone is small; planner, Spark, server and the SDKs of clouds come with `pip install 'kedge[...]'`.
"""

from collections.abc import Mapping
from types import MappingProxyType

_MODULES = {  # what is imported of each, by its first name
    "server": (
        "alembic apscheduler argon2 confluent_kafka cryptography dns fastapi jinja2 joserfc kafka kazoo markupsafe "
        "nanoarrow packaging prometheus_client psycopg pydantic_settings python_multipart python_terraform "
        "pythonjsonlogger requests sqlalchemy sqlmodel starlette uvicorn"
    ),
    "planner": "numba numpy psutil pyarrow scipy",
    "spark": "pandas pyspark",
    "spark-connect": "grpc zstandard",
    "lake": "delta deltalake",
    "plot": "matplotlib",
    "aws": "boto3 botocore",
    "azure": "azure",
    "digitalocean": "pydo",
    "google": "google",
    "hetzner": "hcloud",
    "images": "cvss cyclonedx debian packageurl",
    "upcloud": "upcloud_api",
}
OF_MODULE: Mapping[str, str] = MappingProxyType({m: extra for extra, found in _MODULES.items() for m in found.split()})
"""The extra that brings a module, by its first name. What is not here comes with every installation."""


def extra_missing(error: ModuleNotFoundError) -> str:
    """The extra that would have brought the module; "" where none would: then it is an error of ours."""
    return OF_MODULE.get((error.name or "").partition(".")[0], "")


def how_to_add(extra: str) -> str:
    """The command that adds it, for a person to type."""
    return f"pip install 'kedge[{extra}]'"
