"""The people's API: jobs with their decisions and logs, and the workers they may run on."""

from ninja import Router

from scheduler.api import acts, files, give_up, holds, jobs, logs, machines, replay, reservations, whatif, why

router = Router()
router.add_router("", jobs.router)
router.add_router("", acts.router)
router.add_router("", give_up.router)
router.add_router("", logs.router)
router.add_router("", files.router)
router.add_router("", holds.router)
router.add_router("", replay.router)
router.add_router("", why.router)
router.add_router("", machines.router)
router.add_router("", reservations.router)
router.add_router("", whatif.router)
