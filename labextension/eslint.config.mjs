import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['dist', 'lib', 'node_modules'] },
  eslint.configs.recommended,
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ['eslint.config.mjs'] },
        tsconfigRootDir: import.meta.dirname
      }
    },
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // Lumino's signals take the object of a slot as an argument of its own.
      '@typescript-eslint/unbound-method': 'off',
      // What the user's records say is text: nothing of it may become markup or code.
      'no-restricted-properties': [
        'error',
        ...['innerHTML', 'outerHTML', 'insertAdjacentHTML', 'write', 'srcdoc'].map(property => ({
          property,
          message: 'Set text, not markup.'
        })),
        { property: 'requestExecute', message: 'The panel asks by named requests, and runs no code.' }
      ],
      'no-restricted-syntax': [
        'error',
        { selector: 'JSXAttribute[name.name="dangerouslySetInnerHTML"]', message: 'Set text, not markup.' }
      ]
    }
  },
  { files: ['test/**'], rules: { '@typescript-eslint/no-non-null-assertion': 'off' } },
  { files: ['**/*.mjs'], extends: [tseslint.configs.disableTypeChecked] }
);
