"""A sink for passwords that the server's settings lack is refused where a user is declared."""

import pytest

from controlplane.cluster import commands
from controlplane.cluster.view import ClusterView
from controlplane.commands.admission.judge import SpecJudge
from controlplane.commands.deciders import users
from controlplane.commands.deciders.lookups import Lookups
from tests.builders import a_tls_document, a_view
from tests.unit.controlplane.commands.test_user_commands import _command, delivered_to


@pytest.fixture
def view() -> ClusterView:
    return a_view(document=a_tls_document())


def test_spec_133_a_sink_that_the_settings_lack_is_refused_with_its_line(view: ClusterView) -> None:
    known = Lookups(judge=SpecJudge(password_sinks=("apps",)))
    with pytest.raises(commands.SpecRefused) as refused:
        users.users_declared(view, _command(delivered_to("alice", "other")), known)
    (problem,) = [one for one in refused.value.problems if one.is_error]
    assert (problem.code, problem.path, problem.line) == ("KEDGE-SPEC-133", "spec.authentication.deliverTo", 6)
    assert "Write one of: apps; or add `other` to [kafka.password_sinks]" in problem.fix
    assert users.users_declared(view, _command(delivered_to("alice", "apps")), known).fact is not None
    assert users.users_declared(view, _command(delivered_to("alice", "other")), Lookups()).fact is not None
