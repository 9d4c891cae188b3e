"""A stand-in for a vendor's Terraform provider: the plugin protocol on one side, a cloud's HTTP on the other.

Run by Terraform through the executable that `tests.standins.mirror` makes, in an environment of its own:
`python provider.py CLOUD`. It starts several times in a run, so it imports no more than it needs.
"""

import base64
import importlib
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import grpc
import tf.provider
import tf.runner
from tf.gen import tfplugin_pb2 as pb
from tf.iface import Provider, Resource
from tf.schema import Schema
from tf.types import Unknown
from tf.utils import Diagnostics, to_dynamic_value

from tests.standins import states
from tests.standins.document import Document, document_of
from tests.standins.kind import Kind, Rules, StandIn, TroubleError, Values
from tests.standins.rest import NoAnswerError
from tests.standins.schema import schema_of


class Servicer(tf.provider.ProviderServicer):
    """The protocol where `tf` does less than a real provider: states of other releases, unknowns inside blocks, and an
    end that is orderly.
    """

    def UpgradeResourceState(self, request: Any, context: Any) -> Any:
        block = self.app.document.resources[request.type_name]
        state = states.fitted(block, json.loads(request.raw_state.json))
        return pb.UpgradeResourceState.Response(upgraded_state=to_dynamic_value(state))

    def PlanResourceChange(self, request: Any, context: Any) -> Any:
        attributes, blocks = self._get_res_attrs(request.type_name), self._get_res_blocks(request.type_name)
        diagnostics = Diagnostics()
        _, prior = tf.provider._decode_state(diagnostics, attributes, blocks, request.prior_state)
        _, proposed = tf.provider._decode_state(diagnostics, attributes, blocks, request.proposed_new_state)
        if prior is not None or proposed is None or diagnostics.has_errors():
            return super().PlanResourceChange(request, context)
        plan = states.planned(self.app.document.resources[request.type_name], proposed)
        return pb.PlanResourceChange.Response(planned_state=tf.provider._encode_state(attributes, blocks, plan, None))

    def StopProvider(self, request: Any, context: Any) -> Any:
        self.app.stopping.set()
        return pb.StopProvider.Response()


class Interceptor(tf.runner._ShutdownInterceptor):
    """`tf` drops calls on their way when Terraform asks to stop; a real provider ends them and says what there is."""

    def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        if handler_call_details.method == "/tfplugin6.Provider/StopProvider":
            return continuation(handler_call_details)
        return super().intercept_service(continuation, handler_call_details)


class StandInProvider(Provider):
    """One cloud's stand-in. The cloud's module has `open_stand_in(config, stopping)` and may have `RULES` by type."""

    def __init__(self, cloud: str) -> None:
        self.document: Document = document_of(cloud)
        self.module = importlib.import_module(f"tests.standins.{cloud}")
        self.stopping = threading.Event()
        self.stand_in = StandIn({})

    def get_model_prefix(self) -> str:
        return ""

    def full_name(self) -> str:
        return self.document.cloud

    def get_provider_schema(self, diags: Diagnostics) -> Schema:
        return schema_of(self.document.provider)

    def validate_config(self, diags: Diagnostics, config: Any) -> None: ...

    def configure_provider(self, diags: Diagnostics, config: Any) -> None:
        try:
            self.stand_in = self.module.open_stand_in(config, self.stopping)
        except TroubleError as error:
            diags.add_error(error.summary, error.detail)

    def get_data_sources(self) -> list[Any]:
        return []

    def get_resources(self) -> list[type[Resource]]:
        rules: dict[str, Rules] = getattr(self.module, "RULES", {})
        return [_resource(name, block, rules.get(name, Rules())) for name, block in self.document.resources.items()]


def _resource(type_name: str, block: Mapping[str, Any], rules: Rules) -> type[Resource]:
    schema = schema_of(block, rules)

    class OfThatType(Resource):
        def __init__(self, provider: StandInProvider) -> None:
            self.provider = provider

        @classmethod
        def get_name(cls) -> str:
            return type_name

        @classmethod
        def get_schema(cls) -> Schema:
            return schema

        def create(self, ctx: Any, planned: Values) -> Values | None:
            wanted = _known(planned)
            made = _told(ctx.diagnostics, lambda: self._kind().create(wanted))
            return None if made is None else states.made(block, planned, made)

        def read(self, ctx: Any, current: Values) -> Values | None:
            facts = _told(ctx.diagnostics, lambda: self._kind().read(current))
            if facts is None:
                return current if ctx.diagnostics.has_errors() else None
            return states.seen(block, current, facts)

        def update(self, ctx: Any, current: Values, planned: Values) -> Values:
            facts = _told(ctx.diagnostics, lambda: self._kind().update(current, _known(planned)))
            return current if facts is None else states.made(block, planned, facts)

        def delete(self, ctx: Any, current: Values) -> Values | None:
            def deleted() -> Values:
                self._kind().delete(current)
                return {}

            return current if _told(ctx.diagnostics, deleted) is None else None

        def import_(self, ctx: Any, id: str) -> Values | None:  # noqa: A002
            facts = _told(ctx.diagnostics, lambda: self._kind().imported(id))
            return None if facts is None else states.blank(block) | facts

        def _kind(self) -> Kind:
            kinds = self.provider.stand_in.kinds
            if type_name not in kinds:
                raise TroubleError(f"The stand-in of this provider does not make a {type_name}.")
            return kinds[type_name]

    return OfThatType


def _told(diagnostics: Diagnostics, call: Callable[[], Values | None]) -> Values | None:
    """What the call gives; trouble becomes a diagnostic, and what it left behind is kept."""
    try:
        return call()
    except TroubleError as error:
        diagnostics.add_error(error.summary, error.detail)
        return error.made
    except NoAnswerError as error:
        diagnostics.add_error(str(error))
    except Exception as error:  # noqa: BLE001  # a fault of the stand-in itself must fail the run and say where
        diagnostics.add_error(f"The stand-in broke: {error!r}", traceback.format_exc())
    return None


def _known(planned: Values) -> Values:
    """The plan for those who make it: an unknown is something nobody set."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: plain(v) for k, v in value.items()}
        if isinstance(value, list):
            return [plain(v) for v in value]
        return None if value is Unknown else value

    return {k: plain(v) for k, v in planned.items()}


_certificate_anew = tf.runner._self_signed_cert
_KEPT_S = 6 * 24 * 3600.0
"""`tf` makes certificates for seven days. One that is kept needs no library of cryptography, a third of a start."""


def _certificate() -> tuple[bytes, Any]:
    """What `tf` keeps in the home folder, while that is young enough; else what it makes."""
    kept = Path.home() / ".cache" / "tf-python-provider" / "ssl_cert.json"
    try:
        if time.time() - kept.stat().st_mtime > _KEPT_S:
            return _made_anew()
        told = json.loads(kept.read_text())
        pair = (told["key_pem"].encode(), told["cert_pem"].encode())
        return base64.b64decode(told["cert_chain"]), grpc.ssl_server_credentials([pair])
    except (OSError, ValueError, KeyError):  # none yet, or one that another plugin is just writing
        return _made_anew()


def _made_anew() -> tuple[bytes, Any]:
    chain, credentials = _certificate_anew()
    return chain, credentials


def _end_with(parent: int) -> None:
    """A plugin whose Terraform was killed has nobody to talk to."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def serve(provider: StandInProvider) -> None:
    """Answers Terraform until it is done with us."""
    tf.provider.ProviderServicer = Servicer
    tf.runner._ShutdownInterceptor = Interceptor
    tf.runner._self_signed_cert = _certificate
    tf.runner.run_provider(provider, ["provider"])
    sys.stderr.flush()


def main(arguments: list[str]) -> None:
    """A plugin by itself: the process that Terraform started."""
    (cloud,) = arguments
    # The terminal's interrupt goes to the whole group; Terraform alone decides what to do about it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    serve(StandInProvider(cloud))
    os._exit(0)  # nothing is left to be done, and taking an interpreter apart takes longer than the rest of an end


if __name__ == "__main__":
    main(sys.argv[1:])
