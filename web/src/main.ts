// Puts the control room into the page.

import './tokens.css'
import './base.css'
import { mount } from 'svelte'
import App from './App.svelte'
import { theme } from './state/theme.svelte'

theme.apply()
mount(App, { target: document.getElementById('app')! })
