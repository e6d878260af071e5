import { lingui, linguiTransformerBabelPreset } from '@lingui/vite-plugin';
import babel from '@rolldown/plugin-babel';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The API that `npm run dev:console` talks to. */
const API = process.env['API_URL'] ?? 'http://localhost:3000';

// npm leaves out the binary of the faster transform where it runs on Node 20.
process.env['LINGUI_SUPPRESS_BABEL_WARNING'] = '1';

export default defineConfig({
  base: '/console/',
  plugins: [
    react(),
    lingui({ failOnMissing: true, failOnCompileError: true }),
    babel({ presets: [linguiTransformerBabelPreset()] }),
    tailwindcss(),
  ],
  server: { proxy: { '/api': API, '/attachments': API } },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    manifest: true,
    target: 'es2023',
    // Data URLs are not allowed by the content security policy.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    modulePreload: { polyfill: false },
  },
});
