internal import SystemPackage
package import UbiquityContainers

extension SyncthingFacts {
    /// What keeps items from reaching other devices, or from coming here.
    package var findings: [Finding] {
        var found: [Finding] = []
        if let failure {
            found.append(Finding(.fault, .syncthing, nil, message: failure.message, cause: failure.cause))
        }
        if !version.isEmpty, let numbers = Self.numbers(version), numbers.lexicographicallyPrecedes([1, 19]) {
            found.append(Finding(.warning, .syncthing, nil, "Syncthing at \(address) is \(version); this was made for 1.19 and newer", "update it"))
        }
        for container in unshared {
            found.append(
                Finding(
                    .fault, .syncthing, container, "lies in no folder of the Syncthing at \(address), and reaches no other device by it",
                    "add the containers root there as a folder, and share it with the other devices"))
        }
        return found + folders.flatMap(\.findings)
    }

    /// `v1.19.2-rc.1` as numbers.
    private static func numbers(_ version: String) -> [Int]? {
        let numbers = version.drop { $0 == "v" }.split(separator: ".").prefix(2).map { Int($0) }
        return numbers.contains(nil) || numbers.isEmpty ? nil : numbers.compactMap { $0 }
    }
}

extension SyncthingFacts.Folder {
    /// What is wrong with the folder.
    package var findings: [Finding] {
        var found: [Finding] = []
        func report(_ severity: Finding.Severity, _ what: String, _ remedy: String, at path: FilePath? = nil) {
            found.append(Finding(severity, .syncthing, path ?? self.path, what, remedy))
        }
        if isPaused { report(.fault, "folder \(id) is paused: nothing leaves or reaches this device", "resume it in Syncthing") }
        switch type {
        case "sendreceive": break
        case "sendonly":
            report(.fault, "folder \(id) is “send only”: nothing that other devices make comes here", "make it “send & receive” in Syncthing")
        case "receiveonly":
            report(.fault, "folder \(id) is “receive only”: nothing leaves this device", "make it “send & receive” in Syncthing")
        case "receiveencrypted":
            report(
                .fault, "folder \(id) is “receive encrypted”: what is in it cannot be read here, and no container can lie in it",
                "choose another root with: ubcontrol sign-in ACCOUNT --containers DIR")
        default: report(.warning, "folder \(id) is of a type that is not known here, \(type)", "make it “send & receive” in Syncthing")
        }
        if !error.isEmpty { report(.fault, "folder \(id) has stopped: \(error)", "mend that, and look into Syncthing's log") }
        for failure in failures {
            let item = path.pushing(FilePath(failure.path))
            guard containers.contains(where: { item.starts(with: PathFacts.real($0) ?? $0) }) else { continue }
            report(.fault, "Syncthing cannot bring this item here: \(failure.error)", "mend that; Syncthing tries again by itself", at: item)
        }
        if let maxConflicts, maxConflicts == 0 {
            report(
                .warning, "folder \(id) keeps no copy of a version that loses a conflict (its maxConflicts is 0, as where the element is missing)",
                "set maxConflicts to -1 in the folder's advanced configuration")
        }
        if !isWatched {
            report(
                .warning, "folder \(id) is not watched for changes: they leave this device at the next scan only",
                "turn on “Watch for Changes” in Syncthing")
        }
        if devices.isEmpty {
            report(.warning, "folder \(id) is shared with no other device", "share it in Syncthing")
        } else if devices.allSatisfy(\.isPaused) {
            report(.fault, "all devices that share folder \(id) are paused: \(Self.list(devices))", "resume them in Syncthing")
        } else {
            let paused = devices.filter(\.isPaused)
            if !paused.isEmpty {
                report(.warning, "folder \(id) is shared with devices that are paused: \(Self.list(paused))", "resume them in Syncthing")
            }
            if devices.allSatisfy({ !$0.isConnected }) {
                report(
                    .remark, "no device that shares folder \(id) is connected: \(Self.list(devices))", "nothing, unless one of them should be")
            }
        }
        for item in hidden {
            // What stores and attachment rest on.
            let names = item.components.map(\.string)
            let isVital = containers.contains { container in
                let container = PathFacts.real(container) ?? container
                let below = names.dropFirst(container.components.count)
                let vital = [UbiquityContainer.storesName, UbiquityContainer.markDirectoryName]
                return item.starts(with: container) && below.first.map { vital.contains($0) } ?? true
            }
            report(
                isVital ? .fault : .warning, "Syncthing's patterns leave it out, and it stays on this device",
                "take the pattern out of the folder's .stignore, or keep the item in a folder named .nosync", at: item)
        }
        return found
    }

    private static func list(_ devices: [SyncthingFacts.Device]) -> String { devices.map(\.name).sorted().joined(separator: ", ") }
}
