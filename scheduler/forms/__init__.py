"""The submit form: the same job document as YAML, field by field."""

from scheduler.forms.documents import yaml_of
from scheduler.forms.form import SubmitForm

__all__ = ["SubmitForm", "yaml_of"]
