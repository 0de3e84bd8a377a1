/**
 * `parley-client/call-worklet`: the module that the option `worklet` of `browserCall` and of `loudspeaker` names, for a
 * page that serves it from an address of its own. It serves the microphone as well.
 */
import { loudspeakerWorklet, makeRing } from './playback.ts';
import { microphoneWorklet } from './worklet.ts';

microphoneWorklet();
loudspeakerWorklet(makeRing);
