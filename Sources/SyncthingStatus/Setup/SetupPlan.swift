package import SystemPackage
package import UbiquityContainers

/// One thing that the setup does.
package enum SetupStep: Hashable, Sendable {
    /// Makes the user's Syncthing: its keys and its configuration.
    case makeSyncthing
    case startSyncthing
    case makeRoot(FilePath)
    /// Writes the rule for what stays on this device, before Syncthing first looks at the root.
    case writeRule(FilePath)
    case signIn(AccountName, root: FilePath)
    /// Writes the address and the key of Syncthing into `config.json`.
    case configure(SyncthingConfiguration)
    /// Writes the name of this device into `config.json`.
    case keepDeviceName(String)
    /// Makes the account's directory, by which other devices see that this one shares the root.
    case makeAccountDirectory(FilePath)
    /// Names this device in Syncthing.
    case nameDevice(String)
    case addFolder(NewFolder)
    case addDevice(NewDevice)
    case resumeDevice(String)
    case resumeFolder(String)
    case labelFolder(String, label: String)
    case shareFolder(String, with: [String])
}

/// What is left to do until a device is as somebody wants it.
///
/// After each step the plan is derived again from what is there. A run after an interruption continues at that step.
package struct SetupPlan: Hashable, Sendable {
    /// The steps in their order.
    package private(set) var steps: [SetupStep] = []

    /// Makes a plan.
    ///
    /// - Parameters:
    ///   - wish: what the device is to be.
    ///   - facts: what is there.
    /// - Throws: ``SetupError`` if the wish cannot or must not be met.
    package init(for wish: SetupWish, given facts: SetupFacts) throws(SetupError) {
        try Self.check(wish, facts)
        switch facts.syncthing {
        // What follows depends on what Syncthing says.
        case .missing: steps = [.makeSyncthing, .startSyncthing]
        case .stopped: steps = [.startSyncthing]
        case .running(let answer):
            try Self.check(wish, facts, answer)
            prepare(wish, facts)
            share(wish, facts, answer)
        }
    }

    private mutating func prepare(_ wish: SetupWish, _ facts: SetupFacts) {
        if facts.root == .nothing { steps.append(.makeRoot(wish.root)) }
        if !facts.hasRule { steps.append(.writeRule(wish.root)) }
        if facts.account != wish.account || facts.accountRoot != wish.root { steps.append(.signIn(wish.account, root: wish.root)) }
        if let found = facts.found, found != facts.configured || facts.transport != nil { steps.append(.configure(found)) }
        let isDefault = facts.deviceName == nil && wish.deviceName == facts.hostName
        if facts.deviceName != wish.deviceName, !isDefault { steps.append(.keepDeviceName(wish.deviceName)) }
        // The device that joins gets the directory from the other one.
        if wish.join == nil, !facts.hasAccountDirectory { steps.append(.makeAccountDirectory(wish.root.appending(wish.account.description))) }
    }

    private mutating func share(_ wish: SetupWish, _ facts: SetupFacts, _ answer: SetupFacts.Answer) {
        let folder = facts.folder(at: wish.root)
        let proof = wish.join.flatMap { code in
            facts.sees(code.device.description, in: wish.root) ? nil : PairingProof(of: code, by: answer.device)
        }
        func tagged(_ name: String) -> String {
            if let proof { return proof.tagged(name) }
            return wish.join == nil ? name : PairingProof.untagged(name)
        }
        let plain = PairingProof.untagged(answer.name)
        // A device that is joining another one meanwhile keeps the name with its proof.
        let isDefault = (plain.isEmpty || plain == facts.hostName) && (wish.join != nil || plain == answer.name)
        let name = tagged(isDefault ? wish.deviceName : answer.name)
        if name != answer.name { steps.append(.nameDevice(name)) }

        let id = folder?.id ?? wish.join?.folder ?? PairingCode.folder(of: wish.account)
        if let folder {
            if folder.isPaused { steps.append(.resumeFolder(id)) }
            let label = tagged(folder.label)
            if label != folder.label { steps.append(.labelFolder(id, label: label)) }
        } else {
            steps.append(.addFolder(NewFolder(id: id, label: tagged("Ubiquity \(wish.account)"), path: wish.root.string, devices: [])))
        }
        guard let other = wish.join?.device.description else { return }
        if let device = answer.devices.first(where: { $0.id == other }) {
            if device.isPaused { steps.append(.resumeDevice(other)) }
        } else {
            // Syncthing takes the name from the other device.
            steps.append(.addDevice(NewDevice(id: other, name: "", addresses: wish.addresses + ["dynamic"])))
        }
        let others = folder?.others ?? []
        if !others.contains(other) { steps.append(.shareFolder(id, with: others + [other])) }
    }

    // MARK: - What is refused

    /// Checks what does not depend on Syncthing.
    package static func check(_ wish: SetupWish, _ facts: SetupFacts) throws(SetupError) {
        let root = wish.root
        if let account = facts.account, account != wish.account, !wish.switchesAccount {
            throw SetupError(
                "\(account) is signed in on this device; to sign in to \(wish.account) instead, add --switch-account. Nothing of \(account) is deleted.",
                isUsage: true)
        }
        if let known = facts.accountRoot, known != root {
            throw SetupError(
                "The containers of \(wish.account) lie in \(known) on this device; leave out --containers, or change that first with: ubcontrol sign-in \(wish.account) --containers DIR",
                isUsage: true)
        }
        switch facts.root {
        case .nothing, .directory(isWritable: true): break
        case .directory(isWritable: false):
            throw SetupError(
                "\(root) cannot be written by this user; correct its owner and mode, or name another directory.")
        case .unusable: throw SetupError("\(root) is not a directory; name another one.", isUsage: true)
        }
        if facts.home.starts(with: root) {
            throw SetupError(
                "\(root) contains the device home \(facts.home), which must not be shared; name another directory with --containers.", isUsage: true)
        }
    }

    private static func check(_ wish: SetupWish, _ facts: SetupFacts, _ answer: SetupFacts.Answer) throws(SetupError) {
        let root = wish.root
        if wish.join?.device == answer.device {
            throw SetupError("This code is from this device; give it to another one: ubcontrol setup join CODE", isUsage: true)
        }
        if let outer = answer.folders.first(where: { root.starts(with: $0.path) && root != $0.path }) {
            throw SetupError(
                "\(root) lies in Syncthing's folder \(outer.id), \(outer.path); name that directory itself, or one outside of it, with --containers.",
                isUsage: true)
        }
        if let inner = answer.folders.first(where: { $0.path.starts(with: root) && root != $0.path }) {
            throw SetupError(
                "\(root) contains Syncthing's folder \(inner.id), \(inner.path); name a directory without one with --containers.", isUsage: true)
        }
        let id = wish.join?.folder ?? PairingCode.folder(of: wish.account)
        guard let folder = facts.folder(at: root) else {
            if let elsewhere = answer.folders.first(where: { $0.id == id }) {
                throw SetupError(
                    "Syncthing has the folder \(id) in \(elsewhere.path); name that directory with --containers, or remove the folder there.",
                    isUsage: true)
            }
            if let first = facts.strangers.first, !wish.sharesContents {
                let rest = facts.strangers.count > 1 ? " and \(facts.strangers.count - 1) more" : ""
                throw SetupError(
                    "\(root) holds \(first)\(rest), which would be shared with the account's devices; name an empty directory with --containers, or add --share-contents.",
                    isUsage: true)
            }
            return
        }
        if wish.join != nil, folder.id != id {
            throw SetupError(
                "\(root) is Syncthing's folder \(folder.id), and the other device shares \(id); name another directory with --containers.",
                isUsage: true)
        }
        if folder.type != "sendreceive" {
            throw SetupError(
                "Syncthing's folder \(folder.id) at \(root) is of type \(folder.type); make it “Send & Receive” in Syncthing, or name another directory with --containers."
            )
        }
        let isOurs = folder.id == id || folder.id == facts.madeFolder
        if !isOurs, !folder.others.isEmpty, !wish.sharesContents {
            let names = folder.others.map { other in
                answer.devices.first { $0.id == other }.map(\.name).flatMap { $0.isEmpty ? nil : $0 } ?? String(other.prefix(7))
            }
            throw SetupError(
                "Syncthing shares \(root) already, as folder \(folder.id) with \(names.sorted().joined(separator: ", ")), which would get the account's files; name another directory with --containers, or add --share-contents.",
                isUsage: true)
        }
    }
}
