// Colours: those of the system, or chosen ones.

const KEY = "robota-theme";
export const THEMES = ["system", "light", "dark", "contrast"];

export function themeNow() {
  const stored = localStorage.getItem(KEY);
  return THEMES.includes(stored) ? stored : "system";
}

export function setTheme(name) {
  localStorage.setItem(KEY, name);
  showTheme();
}

export function showTheme() {
  document.documentElement.dataset.theme = themeNow();
}
