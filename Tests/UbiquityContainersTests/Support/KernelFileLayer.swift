import SystemPackage
import UbiquityContainers

/// The kernel's files: a layer of a test writes only the operations that it changes.
protocol KernelFileLayer: FileLayer {}

extension KernelFileLayer {
    private var kernel: LinuxFileLayer { LinuxFileLayer() }

    func names(in directory: FilePath) throws(Errno) -> [String] { try kernel.names(in: directory) }
    func read(_ file: FilePath, limit: Int) throws(Errno) -> [UInt8] { try kernel.read(file, limit: limit) }
    func size(of file: FilePath) throws(Errno) -> Int64 { try kernel.size(of: file) }
    func kind(of path: FilePath) throws(Errno) -> FileKind? { try kernel.kind(of: path) }
    func makeDirectory(_ path: FilePath) throws(Errno) { try kernel.makeDirectory(path) }
    func writeNew(_ file: FilePath, _ bytes: [UInt8]) throws(Errno) { try kernel.writeNew(file, bytes) }
    func renameNew(_ from: FilePath, to: FilePath) throws(Errno) { try kernel.renameNew(from, to: to) }
    func renameOver(_ from: FilePath, to: FilePath) throws(Errno) { try kernel.renameOver(from, to: to) }
    func syncDirectory(_ directory: FilePath) throws(Errno) { try kernel.syncDirectory(directory) }
    func syncFile(_ file: FilePath) throws(Errno) { try kernel.syncFile(file) }
    func remove(_ file: FilePath) throws(Errno) { try kernel.remove(file) }
    func removeDirectory(_ directory: FilePath) throws(Errno) { try kernel.removeDirectory(directory) }
}
