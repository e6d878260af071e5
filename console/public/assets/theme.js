// Before the first paint, so that a chosen theme does not flash.
try {
  const theme = localStorage.getItem('linepace.theme');
  if (theme) document.documentElement.dataset.theme = theme;
} catch {
  // Storage is blocked: the system's theme.
}
