import { tokensOf } from './tokens';

const kinds = (sql: string) =>
  tokensOf(sql)
    .filter(({ text }) => text.trim())
    .map(({ kind, text }) => `${kind} ${text}`);

test('keywords, texts, numbers and comments have kinds', () => {
  expect(kinds(`select "from", 'it''s' -- end\nFROM t1 where x > 1.5e3`)).toEqual([
    'keyword select',
    'other "from"',
    'other ,',
    "text 'it''s'",
    'comment -- end',
    'keyword FROM',
    'other t1',
    'keyword where',
    'other x',
    'other >',
    'number 1.5e3',
  ]);
});

test.each(["select 'open", '/* open', 'select "open', '', '名前 🙂 <script>', "a\n''b"])(
  'the tokens of %j are the statement',
  (sql) => {
    expect(
      tokensOf(sql)
        .map(({ text }) => text)
        .join(''),
    ).toBe(sql);
  },
);
