"""The submit form: the same job document as YAML, field by field."""

from scheduler.forms.form import SubmitForm, yaml_of

__all__ = ["SubmitForm", "yaml_of"]
