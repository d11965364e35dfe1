/** The parameters and settings of a run, from its facets. */
import { list, type Properties, properties, text } from './read';
import { instantText } from './time';

export interface Parameter {
  name: string;
  value: string;
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
