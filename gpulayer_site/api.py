"""The two HTTP interfaces, put together: who may call, what errors look like, what the documentation says."""

from __future__ import annotations

from typing import Any, NoReturn

from django.http import Http404, HttpRequest
from django.urls import URLPattern, URLResolver, path, re_path
from django.views.decorators.csrf import csrf_exempt
from ninja import NinjaAPI
from ninja.errors import ValidationError, ValidationErrorContext
from ninja.openapi.schema import OpenAPISchema
from ninja.router import BoundRouter

from gpulayer_site.access.binding import hold_to_the_table
from gpulayer_site.accounts.api import router as account_router
from gpulayer_site.accounts.api_people import router as people_router
from gpulayer_site.accounts.api_teams import router as teams_router
from gpulayer_site.accounts.auth import UserToken, session
from gpulayer_site.api_docs import docs_page, signed_in_only
from gpulayer_site.audit.api import router as audit_router
from gpulayer_site.bodies import StrictParser
from gpulayer_site.problems import CONTENT_TYPE, install
from scheduler.agent_api import router as agent_router
from scheduler.api import router as jobs_router
from workers.api import router as operators_router
from workers.api_accept import router as accept_router
from workers.api_fleet import router as fleet_router
from workers.api_notices import router as notices_router
from workers.api_trust import router as trust_router
from workers.auth import CredentialBearer


class ProblemAPI(NinjaAPI):
    """An API whose errors are problem+json, in its answers and in its documentation."""

    _document: OpenAPISchema | None = None

    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        """The OpenAPI document, errors under their own media type. It is made once: that takes a second."""
        if self._document is None:
            self._document = super().get_openapi_schema(**options)
            for operations in self._document["paths"].values():
                for operation in operations.values():
                    _may_be_refused(operation["responses"])
                    _name_problems(operation["responses"])
        return self._document

    def _get_bound_routers(self) -> list[BoundRouter]:
        """The operations as they are called: each is held to the table of access."""
        is_new = self._bound_routers_cache is None
        routers = super()._get_bound_routers()
        if is_new:
            hold_to_the_table(routers)
        return routers

    def _get_urls(self) -> list[URLResolver | URLPattern]:
        """Those of the base class, but for its root, which would lead to a page that there is not."""
        return [*super()._get_urls()[:-1], path("", nothing_here, name="api-root")]

    def validation_error_from_error_contexts(self, error_contexts: list[ValidationErrorContext]) -> ValidationError:
        """The base class's error, with what was found, which that leaves out."""
        error = super().validation_error_from_error_contexts(error_contexts)
        found = (each["input"] for context in error_contexts for each in context.pydantic_validation_error.errors())
        for item, value in zip(error.errors, found, strict=True):
            item["input"] = value
        return error


def _may_be_refused(responses: dict[Any, dict[str, Any]]) -> None:
    """A role or a token's scope can be too small for any call that asks who is calling."""
    unknown = responses.get(401) or responses.get("401")
    if unknown is not None and not {403, "403"} & set(responses):
        responses[403] = {**unknown, "description": "Forbidden"}


def _name_problems(responses: dict[Any, dict[str, Any]]) -> None:
    for status, response in responses.items():
        if int(status) >= 400 and "application/json" in response.get("content", {}):
            response["content"] = {CONTENT_TYPE: response["content"]["application/json"]}


people = ProblemAPI(
    title="gpulayer API",
    version="1",
    description="Jobs, the decisions about them, and workers. Send `Authorization: Bearer glu_…`.",
    auth=[UserToken(), session],
    parser=StrictParser(),
    docs_url=None,
    docs_decorator=signed_in_only,
    urls_namespace="people",
)
for _router in (
    jobs_router, operators_router, accept_router, trust_router, fleet_router, notices_router, account_router,
    people_router, teams_router, audit_router,
):  # fmt: skip
    people.add_router("", _router)
install(people)

agents = ProblemAPI(
    title="gpulayer agent API",
    version="1",
    description="What agents on GPU hosts call.",
    auth=CredentialBearer(),
    parser=StrictParser(),
    docs_url=None,
    docs_decorator=signed_in_only,
    urls_namespace="agents",
)
agents.add_router("", agent_router)
install(agents)


@csrf_exempt  # nothing is done here, and a token's owner is to hear that the path is wrong
def nothing_here(request: HttpRequest) -> NoReturn:
    """Answer for every path under /api/ that is none."""
    raise Http404(request.path_info)


urlpatterns = [
    path("api/v1/", people.urls),
    path("api/agent/v1/", agents.urls),
    path("api/docs", docs_page((people, agents)), name="api-docs"),
    re_path(r"^api/", nothing_here),
]
