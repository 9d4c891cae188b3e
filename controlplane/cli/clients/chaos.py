"""Moves, health, faults on purpose and game days."""

from controlplane.api.schemas import chaos as chaos_api, commands as command_api, games as game_api
from controlplane.cli.clients.calls import ApiCalls
from controlplane.cli.clients.exchange import part


class ChaosCalls(ApiCalls):
    """Each raises Unreachable, Refused, CliError and UnknownCluster."""

    def moves(self, name: str) -> chaos_api.MovesOut:
        """The reassignments that run."""
        return self.whole_of(name, "moves", chaos_api.MovesOut, "moves")

    def take_back_moves(self, name: str, order: chaos_api.MovesIn) -> command_api.CommandOut:
        """Has moves of others go back to the replicas before."""
        return self.post_of(name, "moves/take-back", order, command_api.CommandOut)

    def adopt_moves(self, name: str, order: chaos_api.MovesIn) -> command_api.CommandOut:
        """Says that moves of others are known."""
        return self.post_of(name, "moves/adopt", order, command_api.CommandOut)

    def health(self, name: str) -> chaos_api.HealthOut:
        """Whether the cluster is in full health."""
        return self.get_of(name, "health", chaos_api.HealthOut)

    def inject_chaos(self, name: str, order: chaos_api.ChaosIn) -> chaos_api.ChaosOut:
        return self.post_of(name, "chaos", order, chaos_api.ChaosOut)

    def games(self, name: str) -> game_api.GamesOut:
        """The game day in hand and the reports of the last ones."""
        return self.whole_of(name, "games", game_api.GamesOut, "games")

    def game(self, name: str, game: str) -> game_api.GameOut:
        """One game day, as far as it was played."""
        return self.get_of(name, f"games/{part(game)}", game_api.GameOut)

    def start_game(self, name: str, order: game_api.GameIn) -> game_api.GameOut:
        return self.post_of(name, "games", order, game_api.GameOut)

    def end_game(self, name: str, game: str, order: game_api.EndGameIn) -> game_api.GameOut:
        """Has no further fault of a game day begin."""
        return self.post_of(name, f"games/{part(game)}/end", order, game_api.GameOut)
