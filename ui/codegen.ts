import type { CodegenConfig } from '@graphql-codegen/cli';

const config: CodegenConfig = {
  schema: '../graphql/schema.graphql',
  documents: ['src/api/documents.graphql'],
  generates: {
    'src/api/generated/': {
      preset: 'client',
      presetConfig: { fragmentMasking: false },
      config: {
        documentMode: 'string',
        enumType: 'string-literal',
        useTypeImports: true,
        avoidOptionals: { field: true },
        strictScalars: true,
        scalars: { JSON: 'unknown', ID: 'string', RowNumber: 'number' },
      },
    },
  },
};

export default config;
