import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityStores

extension WatchFacts {
    /// The commands for the state and its reasons, most important first.
    var commands: [String] {
        var commands: [String] = []
        if device.signedIn == nil { commands.append("ubcontrol sign-in \(account.shellWord)") }
        let isDetached = device.wasAttached && (presence != .there || device.detached != nil)
        if isDetached || device.failure != nil { commands.append("ubcontrol doctor") }
        for store in localStores {
            for file in store.files where file.isInUse && file.summary.place == "account" { commands += file.commands }
        }
        if state == .waitingForNetwork { commands.append("ubcontrol setup status") }
        return commands
    }
}

extension LocalStore.File {
    /// The commands that let the file exchange again.
    fileprivate var commands: [String] {
        let file = summary.file.shellWord
        if summary.isPaused { return ["ubcontrol store resume \(file)"] }
        guard let exchange else { return [] }
        if exchange.isContentGone, summary.request == nil { return ["ubcontrol store republish \(file)", "ubcontrol store follow \(file)"] }
        return exchange.waiting.contains(where: \.isUnusable) ? ["ubcontrol store quarantine list \(file)"] : []
    }
}
