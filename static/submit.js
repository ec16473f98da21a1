/* submit.js – the submit form: its rows, targets and Apply without asking the server. All of it works without, by buttons that submit. */
(() => {
  const d = document, $ = (s, e = d) => e.querySelector(s), $$ = (s, e = d) => [...e.querySelectorAll(s)];
  const form = $('#submit-form'), draft = $('#draft');
  if (!form || !draft) return;
  const say = t => { $('#announce').textContent = ''; setTimeout(() => $('#announce').textContent = t, 50); };
  const changed = () => draft.dispatchEvent(new Event('change', { bubbles: true }));

  // targets: the order of the list is the order of the hidden fields' names
  const arrange = () => {
    const list = $('#targets ol'), names = list.dataset.targets.split(' '), shown = $$('li:not([hidden])', list);
    shown.forEach((li, at) => {
      const field = $('input', li);
      field.disabled = false; field.name = names[at]; $('.pos', li).textContent = `${at + 1}.`;
      $('[value^=up-]', li).hidden = !at; $('[value^=down-]', li).hidden = at === shown.length - 1; $('[value^=remove-]', li).hidden = shown.length === 1;
    });
    $$('li[hidden] input', list).forEach(x => x.disabled = true);
    $$('#targets [value^=add-]').forEach(b => b.hidden = shown.some(li => b.value === `add-${li.dataset.target}`));
  };
  const order = button => {
    const [verb, target] = button.value.split('-'), li = $(`#targets li[data-target="${target}"]`), list = li.parentElement;
    const shown = $$('li:not([hidden])', list), at = shown.indexOf(li);
    if (verb === 'up' && at > 0) list.insertBefore(li, shown[at - 1]);
    if (verb === 'down' && at < shown.length - 1) list.insertBefore(shown[at + 1], li);
    if (verb === 'add') { li.hidden = false; list.insertBefore(li, shown.length ? shown[shown.length - 1].nextSibling : list.firstChild); }
    if (verb === 'remove') li.hidden = true;
    arrange(); changed();
    const next = button.hidden || li.hidden ? $('#targets button:not([hidden])') : button;
    next.focus();
    const place = $$('li:not([hidden])', list).indexOf(li) + 1;
    say(place ? `${target} is now ${place} of ${$$('li:not([hidden])', list).length}` : `${target} is removed`);
  };

  // rows of names and values; what is pasted into a name as NAME=VALUE lines fills as many rows
  const blank = rows => {
    const last = rows.lastElementChild, row = last.cloneNode(true), n = rows.children.length + 1;
    $$('input', row).forEach(x => { x.value = ''; x.type = x.matches('[autocomplete=new-password]') ? 'password' : 'text'; x.id = x.id.replace(/\d+$/, n); x.setAttribute('aria-label', x.getAttribute('aria-label').replace(/\d+$/, n)); });
    $$('button', row).forEach(b => { b.value = b.value.replace(/\d+$/, n); if (b.matches('[aria-label]')) b.setAttribute('aria-label', b.getAttribute('aria-label').replace(/\d+$/, n)); });
    rows.append(row); return row;
  };
  const drop = row => {
    const rows = row.parentElement, next = row.nextElementSibling || row.previousElementSibling;
    if (next) row.remove(); else $$('input', row).forEach(x => x.value = '');
    $('input', next || row).focus(); changed();
  };
  form.addEventListener('paste', e => {
    const row = e.target.closest('.kvrow'), text = e.clipboardData?.getData('text') || '';
    if (!row || !e.target.name.endsWith('_name') || !/^[^=\n]+=/.test(text.trim())) return;
    e.preventDefault();
    text.split(/\r?\n/).map(l => l.replace(/^\s*export\s+/, '')).filter(l => l.includes('=') && !l.trim().startsWith('#')).forEach((l, i) => {
      const at = i ? blank(row.parentElement) : row, [name, value] = $$('input', at), cut = l.indexOf('=');
      name.value = l.slice(0, cut).trim(); value.value = l.slice(cut + 1);
    });
    changed();
  });

  // what a line under the answer asks for goes into its fields; where one is not a field of this page the server does it
  const apply = button => {
    const fields = Object.entries(JSON.parse(button.dataset.set)).map(([name, text]) => [$(`#f-${name}`), text]);
    if (!fields.length || fields.some(([field]) => !field)) return false;
    fields.forEach(([field, text]) => { field.value = text; field.closest('details')?.setAttribute('open', ''); });
    say('Applied'); changed(); fields[0][0].focus();
    return true;
  };
  form.addEventListener('click', e => {
    const b = e.target.closest('button');
    if (!b) return;
    if (b.closest('#targets')) { e.preventDefault(); order(b); }
    else if (/^more-/.test(b.value)) { e.preventDefault(); $('input', blank(b.closest('.field').querySelector('.kvrows'))).focus(); }
    else if (/^drop-/.test(b.value)) { e.preventDefault(); drop(b.closest('.kvrow')); }
    else if (b.dataset.set && apply(b)) e.preventDefault();
    else if (b.matches('[data-show]')) { const x = $('input[name$=_value]', b.closest('.kvrow')), on = x.type === 'password'; x.type = on ? 'text' : 'password'; b.textContent = on ? 'Hide' : 'Show'; }
  });
  $$('[data-show]').forEach(b => b.hidden = false);

  // a directory that is typed, and files that are chosen, choose their radio
  form.addEventListener('input', e => { const to = { 'f-workdir': 'wd-host', 'f-archive': 'wd-files' }[e.target.id]; if (to) $(`#${to}`).checked = true; });

  // fields are marked as their messages say; the answer is asked for anew while the page is looked at
  d.addEventListener('htmx:after:swap', () => $$('.said[id]').forEach(x => {
    const field = $(`#f-${x.id.slice(5)}`), wrong = !!$('.invalid-feedback', x);
    if (field?.matches('input,textarea,select')) { field.classList.toggle('is-invalid', wrong); wrong ? field.setAttribute('aria-invalid', 'true') : field.removeAttribute('aria-invalid'); }
  }));
  setInterval(async () => {
    const seen = $('#preview')?.dataset.seen;
    if (d.hidden || !seen) return;
    const answer = await fetch(`${draft.getAttribute('hx-post')}?seen=${seen}`).catch(() => null);
    if (answer?.status === 205) draft.dispatchEvent(new CustomEvent('renew'));
  }, 15000);
})();
