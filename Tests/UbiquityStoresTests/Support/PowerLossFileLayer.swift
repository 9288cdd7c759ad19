import SystemPackage
import UbiquityContainers
import UbiquityTesting

/// The kernel's files, with what is done to them told to a disk that may lose power.
struct PowerLossFileLayer: KernelFileLayer {
    let disk: PowerLossDisk
    private let files = LinuxFileLayer()

    init(_ disk: PowerLossDisk) { self.disk = disk }

    func makeDirectory(_ path: FilePath) throws(Errno) {
        let isNew = try files.kind(of: path) == nil
        try files.makeDirectory(path)
        if isNew { disk.record(.makeDirectory(path.string)) }
    }

    func writeNew(_ file: FilePath, _ bytes: [UInt8]) throws(Errno) {
        try files.writeNew(file, bytes)
        let number = disk.number(of: file.string)
        disk.record(.write(number, at: 0, bytes))
        disk.record(.sync(number))
    }

    func renameNew(_ from: FilePath, to: FilePath) throws(Errno) {
        try files.renameNew(from, to: to)
        disk.record(.rename(from.string, to: to.string))
    }

    func renameOver(_ from: FilePath, to: FilePath) throws(Errno) {
        try files.renameOver(from, to: to)
        disk.record(.rename(from.string, to: to.string))
    }

    func syncDirectory(_ directory: FilePath) throws(Errno) {
        try files.syncDirectory(directory)
        disk.record(.syncDirectory(directory.string))
    }

    func syncFile(_ file: FilePath) throws(Errno) {
        try files.syncFile(file)
        disk.record(.sync(disk.number(of: file.string)))
    }

    func remove(_ file: FilePath) throws(Errno) {
        let isThere = try files.kind(of: file) != nil
        try files.remove(file)
        if isThere { disk.record(.remove(file.string)) }
    }

    func removeDirectory(_ directory: FilePath) throws(Errno) {
        let isThere = try files.kind(of: directory) != nil
        try files.removeDirectory(directory)
        if isThere { disk.record(.remove(directory.string)) }
    }
}
