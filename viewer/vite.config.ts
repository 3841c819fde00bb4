import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// relative addresses: the service may be behind a proxy with a prefix
export default defineConfig({
  base: './',
  plugins: [react()],
  resolve: {
    // h5web imports ndarray-ops without using it
    alias: ['ndarray-ops', 'ndarray'].map((find) => ({ find: new RegExp(`^${find}$`), replacement: `${import.meta.dirname}/src/ndarray.ts` })),
  },
  build: {
    outDir: 'dist',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1500,
  },
});
