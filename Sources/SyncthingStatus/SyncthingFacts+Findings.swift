internal import SystemPackage
package import UbiquityContainers

extension SyncthingFacts {
    /// The problems that keep items from leaving or reaching this device.
    package var findings: [Finding] {
        var found: [Finding] = []
        if let failure {
            found.append(Finding(.fault, .syncthing, nil, message: failure.message, cause: failure.cause))
        }
        if SyncthingVersion(version).isTooOld {
            found.append(Finding(.warning, .syncthing, nil, "Syncthing at \(address) is \(version); this was made for 1.19 and newer", "update it"))
        }
        for container in unshared {
            found.append(
                Finding(
                    .fault, .syncthing, container, "is in no folder of the Syncthing at \(address), so it reaches no other device through it",
                    "add the containers root there as a folder, and share it with the other devices"))
        }
        return found + folders.flatMap(\.findings)
    }
}

extension SyncthingFacts.Folder {
    /// The problems of the folder.
    package var findings: [Finding] {
        var found: [Finding] = []
        func report(_ severity: Finding.Severity, _ what: String, _ remedy: String, at path: FilePath? = nil) {
            found.append(Finding(severity, .syncthing, path ?? self.path, what, remedy))
        }
        if isPaused { report(.fault, "folder \(id) is paused: nothing leaves or reaches this device", "resume it in Syncthing") }
        switch type {
        case "sendreceive": break
        case "sendonly":
            report(.fault, "folder \(id) is “send only”: no changes of other devices arrive here", "make it “send & receive” in Syncthing")
        case "receiveonly":
            report(.fault, "folder \(id) is “receive only”: nothing leaves this device", "make it “send & receive” in Syncthing")
        case "receiveencrypted":
            report(
                .fault, "folder \(id) is “receive encrypted”: its contents cannot be read here, and it cannot contain a container",
                "choose another root with: ubcontrol sign-in ACCOUNT --containers DIR")
        default: report(.warning, "folder \(id) has an unknown type, \(type)", "make it “send & receive” in Syncthing")
        }
        if !error.isEmpty { report(.fault, "folder \(id) has stopped: \(error)", "correct that, and read Syncthing's log") }
        for failure in failures {
            let item = path.pushing(FilePath(failure.path))
            guard containers.contains(where: { item.starts(with: PathFacts.real($0) ?? $0) }) else { continue }
            report(.fault, "Syncthing cannot bring this item here: \(failure.error)", "correct that; Syncthing tries again by itself", at: item)
        }
        if let maxConflicts, maxConflicts == 0 {
            report(
                .warning, "folder \(id) keeps no copy of a version that loses a conflict (its maxConflicts is 0, as where the element is missing)",
                "set maxConflicts to -1 in the folder's advanced configuration")
        }
        if !isWatched {
            report(
                .warning, "folder \(id) is not watched for changes: they leave this device only at the next scan",
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
            // The entries that stores and attachment need.
            let names = item.components.map(\.string)
            let isVital = containers.contains { container in
                let container = PathFacts.real(container) ?? container
                let below = names.dropFirst(container.components.count)
                let vital = [UbiquityContainer.storesName, UbiquityContainer.markDirectoryName]
                return item.starts(with: container) && below.first.map { vital.contains($0) } ?? true
            }
            report(
                isVital ? .fault : .warning, "Syncthing's patterns exclude it, so it stays on this device",
                "remove the pattern from the folder's .stignore, or keep the item in a folder named .nosync", at: item)
        }
        return found
    }

    private static func list(_ devices: [SyncthingFacts.Device]) -> String { devices.map(\.name).sorted().joined(separator: ", ") }
}
