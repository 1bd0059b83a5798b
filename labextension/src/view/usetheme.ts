/** Colours that are drawn, not styled: what to do when the theme changes. */
import { useEffect, useState } from 'preact/hooks';

/** A number that is another one whenever JupyterLab's theme, or the system's, may have changed. */
export function useTheme(): number {
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const change = (): void => {
      setTheme(before => before + 1);
    };
    const observer = new MutationObserver(change);
    observer.observe(document.body, {
      attributes: true,
      attributeFilter: ['class', 'data-jp-theme-name', 'data-jp-theme-light', 'data-vscode-theme-kind']
    });
    const system = window.matchMedia('(prefers-color-scheme: dark)');
    system.addEventListener('change', change);
    return () => {
      observer.disconnect();
      system.removeEventListener('change', change);
    };
  }, []);
  return theme;
}
