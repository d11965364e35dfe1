import type { CodegenConfig } from '@graphql-codegen/cli';
import { preset } from '@graphql-codegen/client-preset';

type Output = CodegenConfig['generates'][string];

const config: CodegenConfig = {
  schema: '../graphql/schema.graphql',
  generates: {
    'src/api/generated/': outputOf('documents'),
    'src/api/generated/first/': outputOf('first'),
  },
};

function outputOf(name: string): Output {
  return {
    documents: [`src/api/${name}.graphql`, 'src/api/fragments.graphql'],
    // The preset also writes a function that parses documents in source files. The page has none there.
    preset: {
      ...preset,
      buildGeneratesSection: async (options) =>
        (await preset.buildGeneratesSection(options)).filter(({ filename }) => filename.endsWith('/graphql.ts')),
    },
    presetConfig: { fragmentMasking: false },
    config: {
      documentMode: 'string',
      enumType: 'string-literal',
      useTypeImports: true,
      avoidOptionals: { field: true },
      strictScalars: true,
      scalars: { JSON: 'unknown', ID: 'string', RowNumber: 'number' },
    },
  };
}

export default config;
