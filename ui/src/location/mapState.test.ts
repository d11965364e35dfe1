import { formatLocation, HOME, parseLocation } from './location';
import {
  addMember,
  closeGroup,
  includeGroup,
  type MapState,
  moreGroups,
  moreMembers,
  openGroup,
  WHOLE_LAKE,
} from './mapState';

test('the address of the map says lens, groups, open boxes and members', () => {
  let map: MapState = { ...WHOLE_LAKE, lens: 'OWNER' };
  map = openGroup(openGroup(map, 'owner:ann b'), 'owner:bob');
  map = moreMembers(addMember(map, 'owner:bob', 'dataset:s3%3A//x:a b'), 'owner:ann b');
  map = includeGroup(moreGroups(map), 'owner:zoe');
  const location = { ...HOME, page: 'map', map };
  expect(parseLocation(formatLocation(location)).map).toEqual(map);
  expect(closeGroup(map, 'owner:bob').open.map(({ id }) => id)).toEqual(['owner:ann b']);
});

test('an address of the map that nobody can have written shows the whole lake', () => {
  expect(parseLocation('?page=map&lens=nothing&groups=-4&group=x&member=9+y').map).toEqual({
    ...WHOLE_LAKE,
    groups: 1,
  });
  expect(parseLocation('?page=map').map).toEqual(WHOLE_LAKE);
  expect(parseLocation('?page=triggers&lens=owner').map).toBeUndefined();
});
