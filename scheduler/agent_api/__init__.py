"""The agents' calls. Each is conditional on worker, epoch and fence; late and repeated ones change nothing."""

from ninja import Router

from scheduler.agent_api import credentials, files, fleet, sessions, tasks

router = Router()
router.add_router("", sessions.router)
router.add_router("", tasks.router)
router.add_router("", files.router)
router.add_router("", fleet.router)
router.add_router("", credentials.router)
