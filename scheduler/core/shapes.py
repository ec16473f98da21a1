"""One shape of job against one fleet: everything that jobs of equal requirements share during a pass."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from functools import cached_property

from scheduler.core.bits import Left, blocks_of, less, of_ranks, spot
from scheduler.core.board import Board
from scheduler.core.causes import Causes, Split, failing, levels, split
from scheduler.core.census import Census
from scheduler.core.decision import Parts, Verdict
from scheduler.core.device_board import Request
from scheduler.core.gang import Version
from scheduler.core.notes import notes
from scheduler.core.policies import Key
from scheduler.core.reasons import Code, Note, Reason
from scheduler.core.spec import Origin, QueueEntry
from scheduler.core.tiers import closed_tiers, could_ever


def shape_of(entry: QueueEntry, claims: frozenset[str], reach: int) -> Hashable:
    """What of a job a decision can depend on; not its name, its command or who it is.

    `reach` stands for its time limit: which of the upcoming reservations it may run into.
    """
    spec = entry.spec
    return (
        spec.target, spec.fallback_targets, spec.fallback_when, spec.policy, spec.placement, spec.resources,
        spec.runtime, spec.distributed, claims, reach,
    )  # fmt: skip


class Shape:
    """What is known of a shape, of which `entry` is any job."""

    def __init__(
        self, entry: QueueEntry, claims: frozenset[str], census: Census, board: Board, request: Request | None
    ) -> None:
        self._spec, self._claims = entry.spec, claims
        self._census, self._board, self.request = census, board, request
        self._failing = failing(entry, claims, census)
        self._in_tier: dict[Origin, int] = {}
        self._left: dict[Origin, Left] = {}
        self.compatible = census.everyone
        for _, bits in self._failing:
            self.compatible = less(self.compatible, bits)
        self.torch = census.torch(entry.spec.runtime.environment) if entry.spec.distributed else None
        self.counts = self.count(self.compatible)
        self.closed = closed_tiers(entry, self.counts)
        self.ever_schedulable = could_ever(entry, self.counts)
        self._levels = levels(entry, board)
        self._gone = [short for _, short in self._levels] + ([request.lacking] if request else [])
        self._lasting = self._lasting_causes(entry)
        self._open = self.compatible
        for _, bits in self._lasting:
            self._open = less(self._open, bits)
        self._told: tuple[tuple[int, int, int], Parts] | None = None
        self.said: dict[int, tuple[Hashable, tuple[Reason, ...], Key | None]] = {}
        """By rank, what was last found of a compatible worker: in which state, its reasons, and its key."""

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """What no single worker can say."""
        return notes(self._spec, self._census.names, self._census.newer(self._spec, self.compatible))

    @cached_property
    def _compatible_blocks(self) -> list[int]:
        return blocks_of(self.compatible, self._census.size)

    def in_tier(self, tier: Origin) -> int:
        """The compatible workers of one tier."""
        if tier not in self._in_tier:
            self._in_tier[tier] = self.compatible & self._census.origins.get(tier, 0)
        return self._in_tier[tier]

    def left(self, tier: Origin) -> Left:
        """The workers of one tier that could be taken now, as they become fewer during the pass."""
        if tier not in self._left:
            self._left[tier] = Left(self._open & self.in_tier(tier), self._census.size, self._gone)
        return self._left[tier]

    def count(self, workers: int) -> dict[Origin, dict[Version, int]]:
        """How many of these workers each tier has, by torch version for a gang."""
        versions = {None: self._census.everyone} if self.torch is None else self._versions()
        tiers = {tier: workers & self._census.origins.get(tier, 0) for tier in self._spec.tiers}
        return {
            tier: {version: (bits & alike).bit_count() for version, alike in versions.items() if bits & alike}
            for tier, bits in tiers.items()
        }

    def counts_without(self, ranks: Iterable[int]) -> dict[Origin, dict[Version, int]]:
        """What `counts` would be without these workers, of which each is given once."""
        counts = {tier: dict(versions) for tier, versions in self.counts.items()}
        for rank in ranks:
            _, block, bit, _ = spot(rank)
            if self._compatible_blocks[block] & bit:
                counts[self._census.facts[rank].origin][self.torch[rank] if self.torch else None] -= 1
        return counts

    def eligible(self, epoch: int, avoided: int) -> int:
        """The workers that could be taken at that moment."""
        taken = avoided
        for gone in self._gone:
            taken |= gone.before(epoch)
        return less(self._open, taken)

    def ranks_of(self, workers: Iterable[str]) -> list[int]:
        """The ranks of these workers, as far as the fleet has them."""
        return [rank for rank in map(self._census.rank_of.get, workers) if rank is not None]

    def ranks(self, workers: Collection[str]) -> int:
        """The set of them."""
        return of_ranks(self.ranks_of(workers), self._census.size) if workers else 0

    def parts(self, epoch: int, avoided: int, chosen: int) -> Parts:
        """The candidates at that moment by verdict and codes; the same object for jobs that find the same."""
        if self._told is None or self._told[0] != (epoch, avoided, chosen):
            able = dict(self.unavailable(epoch, avoided))
            eligible = able.pop((), 0)
            parts = {(Verdict.INCOMPATIBLE, codes): workers for codes, workers in self.incompatible.items()}
            parts |= {(Verdict.UNAVAILABLE, codes): workers for codes, workers in able.items()}
            parts |= {(Verdict.ELIGIBLE, ()): less(eligible, chosen), (Verdict.SELECTED, ()): chosen}
            told = {part: workers for part, workers in parts.items() if workers}
            self._told = ((epoch, avoided, chosen), told)  # another thread may ask for another moment by now
            return told
        return self._told[1]

    @cached_property
    def incompatible(self) -> Split:
        """The workers that never could, by the codes that stand against them."""
        return split(less(self._census.everyone, self.compatible), self._failing)

    def unavailable(self, epoch: int, avoided: int) -> Split:
        """The compatible workers at that moment, by the codes that stand against them; by none, the eligible."""
        causes = [*self._lasting, (Code.FAILED_HERE, avoided)]
        causes += [(code, short.before(epoch)) for code, short in self._levels]
        if self.request:
            lacking = self.request.lacking.before(epoch)
            causes += [(code, lacking & charged) for code, charged in self.request.causes.items()]
            causes.append((Code.GPU_IN_USE, self.request.in_use(epoch)))
        return split(self.compatible, causes)

    def _versions(self) -> dict[Version, int]:
        return self._census.versions(self._spec.runtime.environment)

    def _lasting_causes(self, entry: QueueEntry) -> Causes:
        """What stands for the whole pass."""
        board, reserved = self._board, self._census.reserved(self._claims, ends=True)
        closed = 0
        for tier in self.closed:
            closed |= self.in_tier(tier)
        causes = [(Code.OFFLINE, board.offline), (Code.DRAINING, board.draining), (Code.UNHEALTHY, board.unhealthy)]
        causes += [(Code.RESERVED_UNTIL, reserved), (Code.RESERVED_FROM, board.left_before(entry))]
        causes.append((Code.NOT_RESERVED, board.not_kept_for(entry, self._claims)))
        return [*causes, (Code.TIER_CLOSED, closed)]
