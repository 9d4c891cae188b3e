"""What all of a server stands on: its home, its database with what is kept there, who leads, and Terraform's states."""

import os
import secrets
import socket
from dataclasses import dataclass

from sqlalchemy import Engine

from controlplane.runtime.listen_addresses import ListenAddress
from controlplane.runtime.process_lock import LeaderLock
from controlplane.server.assembly.terraform_states import Storage, first_state, keys_print, settle, storage_of
from controlplane.server.database_roles import check_role
from controlplane.server.sections.database import LONGEST_CALL_S
from controlplane.server.settings import Settings
from controlplane.server.tls_agents import authority_of
from controlplane.storage.certificates.authority import Authority
from controlplane.storage.certificates.cluster_authorities import SqlClusterAuthorities
from controlplane.storage.certificates.own_authorities import OwnAuthorities
from controlplane.storage.home import Home, HomeIdentity, Installation
from controlplane.storage.home_binding import Claimed, HomeRefused, claim_home
from controlplane.storage.job_store import SqlJobStore
from controlplane.storage.latest_values import SqlLatestStore
from controlplane.storage.lease import SqlLeaseStore
from controlplane.storage.lease_holder import Candidate
from controlplane.storage.migrate import upgrade
from controlplane.storage.plan_store import SqlPlanStore
from controlplane.storage.terraform_states.encryption import KeySeal
from controlplane.storage.terraform_states.storage import Leading
from controlplane.storage.user_passwords import SqlPendingPasswords
from events.engine import build_engine
from events.sql_store import SqlEventStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What a portal apart from its loop has as well. What is in `latest` may be lost."""

    settings: Settings
    installation: Installation
    engine: Engine
    store: SqlEventStore
    latest: SqlLatestStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground(Base):
    """`engine` waits for the disk, `hasty` does not."""

    home: Home
    authority: Authority | None
    cluster_authorities: SqlClusterAuthorities
    user_passwords: SqlPendingPasswords
    identity: HomeIdentity
    claimed: Claimed
    hasty: Engine
    candidate: Candidate
    storage: Storage
    jobs: SqlJobStore
    plans: SqlPlanStore

    def dispose(self) -> None:
        """Lets go of the database."""
        self.engine.dispose()
        self.hasty.dispose()


def ground_of(settings: Settings, *, states_at: tuple[str, int], take_over_home: bool, move_states: bool) -> Ground:
    """The database migrated, the home claimed on it, the log verified. `states_at`: where Terraform reaches its states.

    Raises MirrorRefused, MigrationError, RoleRefused, HomeRefused, AuthorityRefused, StoreUnavailable, PositionGap,
    OSError.
    """
    if settings.terraform.provider_mirror is not None:
        settings.terraform.provider_mirror.refuse_unusable()  # now, rather than at the first run of a cluster
    home = Home(settings.home)
    installation = home.installation()
    authority = authority_of(settings, home)
    upgrade(settings.database_url)
    engine = build_engine(settings.database_url)
    check_role(engine)
    identity = home.identity()
    leases = SqlLeaseStore(engine, longest_call_s=LONGEST_CALL_S)
    candidate = Candidate(
        leases,
        owner=f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}",
        term_s=settings.database.lease_term_s,
        lock=LeaderLock(home.leader_lock),
    )
    storage = _storage(settings, engine, installation, candidate, states_at)
    prints = keys_print(installation.server_key.get_secret_value(), authority.sha256 if authority else "")
    try:
        claimed = claim_home(engine, identity, take_over=take_over_home, state=first_state(storage), keys_print=prints)
        settle(
            engine,
            storage,
            recorded=claimed.state,
            move=move_states,
            leases=leases,
            term_s=settings.database.lease_term_s,
        )
    except HomeRefused:
        engine.dispose()
        raise
    # Reports may be lost, and there are many of them: they do not wait for the disk.
    hasty = build_engine(settings.database_url, durable=False)
    store = SqlEventStore(engine)
    store.verify()
    seal = KeySeal(installation.server_key.get_secret_value())
    return Ground(
        settings=settings,
        home=home,
        installation=installation,
        authority=authority,
        cluster_authorities=SqlClusterAuthorities(engine, seal, own=OwnAuthorities(settings.kafka.own_cas)),
        user_passwords=SqlPendingPasswords(engine, seal),
        identity=identity,
        claimed=claimed,
        engine=engine,
        hasty=hasty,
        candidate=candidate,
        storage=storage,
        store=store,
        latest=SqlLatestStore(hasty),
        jobs=SqlJobStore(engine),
        plans=SqlPlanStore(engine),
    )


def _storage(
    settings: Settings, engine: Engine, installation: Installation, candidate: Candidate, at: tuple[str, int]
) -> Storage:
    return storage_of(
        engine,
        chosen=settings.terraform.state,
        server_key=installation.server_key,
        keep=settings.terraform.state_versions,
        root=settings.home / "terraform",
        url=ListenAddress(*at).url,
        leading=Leading(candidate.owner, candidate.epoch, lambda epoch: candidate.held_epoch() == epoch),
        lease_term_s=settings.database.lease_term_s,
        mirror=settings.terraform.provider_mirror,
    )
