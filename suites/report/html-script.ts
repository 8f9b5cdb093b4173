/** The filters of the HTML report. Without it the page still shows everything. */
export const htmlScript = `
(() => {
  const all = (selector) => [...document.querySelectorAll(selector)]
  const text = document.getElementById('text')
  const count = document.getElementById('count')
  const clear = document.getElementById('clear')
  const cases = all('.case')
  const lines = all('tr[data-id]')
  const groups = all('.group')
  const verdicts = all('[data-verdict-filter]')
  const cells = all('[data-requirement]')
  let requirement = ''

  const shown = (element, wanted, words) =>
    wanted.has(element.dataset.verdict) &&
    (requirement === '' || element.dataset.proves.split(' ').includes(requirement)) &&
    words.every((word) => element.dataset.search.includes(word))

  const apply = () => {
    const wanted = new Set(verdicts.filter((one) => one.getAttribute('aria-pressed') === 'true').map((one) => one.dataset.verdictFilter))
    const words = text.value.toLowerCase().split(/\\s+/).filter(Boolean)
    for (const element of [...cases, ...lines]) element.hidden = !shown(element, wanted, words)
    const narrowed = requirement !== '' || words.length > 0 || wanted.size < verdicts.length
    for (const group of groups) {
      group.hidden = [...group.querySelectorAll('.case')].every((one) => one.hidden)
      group.open = narrowed
    }
    for (const cell of cells) cell.setAttribute('aria-pressed', String(cell.dataset.requirement === requirement))
    const visible = cases.filter((one) => !one.hidden).length
    count.textContent = visible + ' of ' + cases.length + ' cases' + (requirement === '' ? '' : ' for ' + requirement)
    clear.hidden = requirement === '' && text.value === '' && verdicts.every((one) => one.getAttribute('aria-pressed') === 'true')
  }

  const choose = (id) => {
    requirement = cells.some((cell) => cell.dataset.requirement === id) ? id : ''
    history.replaceState(null, '', requirement === '' ? location.pathname + location.search : '#' + requirement)
    apply()
  }

  for (const one of verdicts)
    one.addEventListener('click', (event) => {
      const on = one.getAttribute('aria-pressed') === 'true'
      if (event.altKey || event.shiftKey) for (const other of verdicts) other.setAttribute('aria-pressed', String(other === one))
      else one.setAttribute('aria-pressed', String(!on))
      apply()
    })
  for (const cell of cells)
    cell.addEventListener('click', () => {
      const id = cell.dataset.requirement
      choose(requirement === id ? '' : id)
      if (requirement !== '') document.getElementById('cases').scrollIntoView()
    })
  text.addEventListener('input', apply)
  clear.addEventListener('click', () => {
    text.value = ''
    for (const one of verdicts) one.setAttribute('aria-pressed', 'true')
    choose('')
    text.focus()
  })
  for (const button of all('.copy')) {
    button.hidden = false
    button.addEventListener('click', async () => {
      const line = button.parentElement.querySelector('pre')
      try {
        await navigator.clipboard.writeText(line.textContent)
        button.textContent = 'Copied'
      } catch {
        getSelection().selectAllChildren(line)
        button.textContent = 'Selected'
      }
      setTimeout(() => { button.textContent = 'Copy' }, 2000)
    })
  }
  document.addEventListener('keydown', (event) => {
    if (event.key === '/' && document.activeElement !== text && !event.ctrlKey && !event.metaKey) {
      event.preventDefault()
      text.focus()
    }
    if (event.key === 'Escape') clear.click()
  })
  addEventListener('hashchange', () => choose(decodeURIComponent(location.hash.slice(1))))
  document.querySelector('.filters').hidden = false
  choose(decodeURIComponent(location.hash.slice(1)))
})()
`
