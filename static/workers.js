/* The list of workers: tick all of a page, and how many are ticked. Without it each row is ticked by itself. */
(() => {
  const rows = () => [...document.querySelectorAll('#rows input[name=worker]')];
  const tell = () => {
    const all = document.getElementById('pick-all'), said = document.getElementById('picked'), boxes = rows();
    if (!all || !said) return;
    const ticked = boxes.filter(box => box.checked).length;
    all.hidden = false;
    all.checked = ticked > 0 && ticked === boxes.length;
    all.indeterminate = ticked > 0 && ticked < boxes.length;
    said.textContent = ticked ? `${ticked} ${said.dataset.many}` : 'Ticked workers:';
  };
  document.addEventListener('change', event => {
    if (event.target.id === 'pick-all') rows().forEach(box => { box.checked = event.target.checked; });
    if (event.target.closest?.('#rows')) tell();
  });
  document.addEventListener('htmx:after:swap', () => setTimeout(tell));
  tell();
})();
