import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// relative addresses: the service may be behind a proxy with a prefix
export default defineConfig({
  base: './',
  plugins: [react()],
  build: {
    outDir: 'dist',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1500,
  },
});
