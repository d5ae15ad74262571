// Puts the control room into the page.

import './tokens.css'
import './base.css'
import { mount } from 'svelte'
import App from './App.svelte'
import { theme } from './state/theme.svelte'

theme.apply()
// In a task of its own: reading the program and putting it up would be one long one on a phone.
setTimeout(() => mount(App, { target: document.getElementById('app')! }))
