export interface Token {
  kind: 'keyword' | 'text' | 'number' | 'comment' | 'other';
  text: string;
}

const KEYWORDS = new Set(
  `ALL AND ANTI AS ASC BETWEEN BY CASE CAST CREATE CROSS DELETE DESC DISTINCT DROP ELSE END EXCEPT EXISTS FALSE FROM FULL GROUP HAVING IF IN
  INNER INSERT INTERSECT INTERVAL INTO IS JOIN LATERAL LEFT LIKE LIMIT MATCHED MERGE NOT NULL ON OR ORDER OUTER OVER OVERWRITE PARTITION
  QUALIFY REPLACE RIGHT SELECT SEMI SET TABLE THEN TRUE UNION UPDATE USING VALUES VIEW WHEN WHERE WINDOW WITH`.split(
    /\s+/,
  ),
);
/** A comment, a quoted text, a quoted name, a number, a word, or one other character. An open quote ends with the statement. */
const TOKEN =
  /(--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:[^']|'')*(?:'|$))|("(?:[^"]|"")*(?:"|$)|`[^`]*(?:`|$))|(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)|([\p{L}_][\p{L}\p{N}_$]*)|\s+|[\s\S]/gu;

/** The tokens of a statement in SQL. Together they are the statement. */
export function tokensOf(sql: string): Token[] {
  return [...sql.matchAll(TOKEN)].map(([text, comment, literal, , number, word]) => {
    if (comment !== undefined) return { kind: 'comment', text };
    if (literal !== undefined) return { kind: 'text', text };
    if (number !== undefined) return { kind: 'number', text };
    return { kind: word !== undefined && KEYWORDS.has(word.toUpperCase()) ? 'keyword' : 'other', text };
  });
}
