// What a browser makes of a page: told to the document around it, which the browser prints.
addEventListener("load", async () => {
  const complaints = [];
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 0) complaints.push(`the page is ${wide} px wider than its window`);
  const shown = [...document.querySelectorAll("svg")].filter(one => one.getBoundingClientRect().width > 0);
  for (const picture of shown) {
    const name = picture.getAttribute("aria-labelledby");
    const box = picture.getBoundingClientRect();
    const words = [...picture.querySelectorAll("text")].map(text => [text.textContent, text.getBoundingClientRect()]);
    for (const [word, at] of words) {
      if (at.left < box.left - 1 || at.right > box.right + 1 || at.top < box.top - 1 || at.bottom > box.bottom + 1) {
        complaints.push(`${name}: "${word}" leaves its picture`);
      }
    }
    words.forEach(([one, a], index) => words.slice(index + 1).forEach(([other, b]) => {
      const [x, y] = [Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)];
      if (x > 2 && y > 4) complaints.push(`${name}: "${one}" lies on "${other}"`);
    }));
  }
  const loaded = performance.getEntriesByType("resource").map(entry => entry.name);
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const faults = window.axe ? await faultsOf(window.axe) : [];
  const figures = [...document.querySelectorAll("figure")].map(one => ({
    id: one.id, shown: [...one.querySelectorAll("svg")].filter(svg => svg.getBoundingClientRect().width > 0).length,
    values: [...one.querySelectorAll("[data-v]")].map(cell => cell.dataset.v),
  }));
  const all = { pictures: shown.length, width: innerWidth, dark, loaded, complaints, faults, figures };
  parent.postMessage(JSON.stringify(all), "*");
});

// What axe-core finds in the page with everything unfolded. The rows of a table are alike: a few of each are looked at,
// because the colours behind every single cell take the checker minutes.
async function faultsOf(axe) {
  document.querySelectorAll("details").forEach(one => { one.open = true; });
  document.querySelectorAll("tbody").forEach(one => [...one.rows].slice(8).forEach(row => row.remove()));
  const { violations, passes } = await axe.run(document, { resultTypes: ["violations", "passes"], selectors: true });
  const faults = violations.map(one => ({
    rule: one.id, impact: one.impact, help: one.help, count: one.nodes.length,
    nodes: one.nodes.slice(0, 3).map(node => `${node.target}: ${node.html.slice(0, 200)} ${node.failureSummary}`),
  }));
  return [{ rule: "checked", impact: null, count: passes.length }, ...faults];
}
