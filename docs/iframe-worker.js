// Search in pages that are opened from the disk: browsers start no worker for these. This one runs its script in a
// hidden frame. The theme looks for the name of this file, its search for the name IFrameWorker.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.frame.srcdoc = ""
      this.loaded = new Promise((resolve) => {
        this.frame.onload = () => {
          const script = this.frame.contentDocument.createElement("script")
          this.frame.contentWindow.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
          script.src = url
          script.onload = resolve
          this.frame.contentDocument.body.append(script)
        }
      })
      document.body.append(this.frame)
    }

    postMessage(data) {
      this.loaded.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
