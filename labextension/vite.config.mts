/** The widgets: one ES module and one file of styles, with all that they need, in the place that the wheel ships. */
import { defineConfig } from 'vite';

export default defineConfig({
  define: { 'process.env.NODE_ENV': '"production"' },
  build: {
    outDir: '../bigdebug/views/static',
    emptyOutDir: true,
    target: 'es2022',
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    license: { fileName: 'licenses.md' },
    lib: {
      entry: { views: 'src/views.ts' },
      formats: ['es'],
      fileName: (_, name) => `${name}.js`,
      cssFileName: 'views'
    }
  }
});
