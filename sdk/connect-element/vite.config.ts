// Plain, without an import: the sdk depends on no package. `npm run prepare` builds the element beside the portal, whose build empties the folder before.
export default {
  build: {
    target: 'es2022',
    outDir: '../../portal/dist',
    emptyOutDir: false,
    modulePreload: false,
    rollupOptions: { input: 'connect-element.ts', output: { entryFileNames: 'connect-element.js' } },
  },
}
