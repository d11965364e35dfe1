/** What OpenLineage's standard facets and Headwater's own facets say about a job or a run. */
import { list, type Properties, properties, text } from './read';
import { instantText } from './time';

export interface SourceCode {
  /** Address of the file. Only http and https addresses become links. */
  url: string | undefined;
  /** Path in its repository. */
  path: string | undefined;
  /** Commit or tag. */
  version: string | undefined;
}

export interface Failure {
  message: string;
  stack: string | undefined;
}

export interface Parameter {
  name: string;
  value: string;
}

export function sourceCodeOf(job: Properties): SourceCode | undefined {
  const facet = properties(job.sourceCodeLocation);
  const url = text(facet.url) ?? text(facet.repoUrl);
  const path = text(facet.path);
  if (url === undefined && path === undefined) return undefined;
  return { url: isWebAddress(url) ? url : undefined, path: path ?? url, version: text(facet.version) };
}

/** The statement or the program that the job runs. */
export function codeOf(job: Properties, run: Properties = {}): { language: string; code: string } | undefined {
  const query = text(properties(job.sql).query) ?? text(properties(run.sql).query);
  if (query !== undefined) return { language: 'sql', code: query };
  const source = properties(job.sourceCode);
  const code = text(source.sourceCode);
  return code === undefined ? undefined : { language: text(source.language)?.toLowerCase() ?? '', code };
}

export function failureOf(run: Properties): Failure | undefined {
  const facet = properties(run.errorMessage);
  const message = text(facet.message) ?? text(run.error);
  return message === undefined ? undefined : { message, stack: text(facet.stackTrace) };
}

/** Engine, program, person, machine and nominal time of a run, as far as they are stated. */
export function parametersOf(run: Properties): Parameter[] {
  const engine = properties(run.processing_engine);
  const application = properties(run.spark_applicationDetails);
  const invocation = properties(run.headwater_invocation);
  const nominalTime = text(properties(run.nominalTime).nominalStartTime);
  const argv = Array.isArray(invocation.argv) ? invocation.argv.filter((part) => typeof part === 'string') : [];
  const known: [string, string | undefined][] = [
    ['Started by', text(application.userName)],
    ['Engine', [text(engine.name), text(engine.version)].filter(Boolean).join(' ') || undefined],
    ['Nominal time', nominalTime === undefined ? undefined : instantText(nominalTime)],
    ['Command', argv.join(' ') || undefined],
    ['Working folder', text(invocation.working_directory)],
    ['Application', text(application.applicationId)],
    ['Master', text(application.master)],
    ['Reported by', text(run.producer)],
  ];
  return known.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]));
}

/** Settings and variables of the environment, as far as producers state them. Secrets are redacted before they are stored. */
export function settingsOf(run: Properties): Parameter[] {
  const spark = Object.entries(properties(properties(run.spark_properties).properties));
  const environment = list(properties(run.environmentVariables).environmentVariables);
  return [
    ...spark.map(([name, value]) => ({ name, value: String(value) })),
    ...environment.map(({ name, value }) => ({ name: String(name), value: String(value) })),
  ];
}

function isWebAddress(url: string | undefined): boolean {
  return /^https?:\/\//i.test(url ?? '');
}
